package docs

import (
	"bufio"
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"sabha.dev/chassis/binding"
	"sabha.dev/chassis/clock"
	"sabha.dev/chassis/fault"
	"sabha.dev/services/console"
	"sabha.dev/services/executor"
	"sabha.dev/services/gateway"
	"sabha.dev/services/memory"
	"sabha.dev/services/partners"
	"sabha.dev/services/planner"
	"sabha.dev/services/research"
	"sabha.dev/services/review"
	"sabha.dev/services/security"
	"sabha.dev/services/validator"
)

// reasons are the constants of package fault.
func reasons(t *testing.T) []fault.Reason {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), root+"/chassis/fault/fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []fault.Reason
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Reason" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, fault.Reason(value))
		}
		return true
	})
	if len(all) < 10 {
		t.Fatalf("only the reasons %v were found", all)
	}
	return all
}

// refusing is a connection to an agent that refuses every call.
type refusing struct{ err error }

func (r refusing) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return r.err }

func (r refusing) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, r.err
}

// codes are what a client sees of an error: HTTP status, gRPC code by name, JSON-RPC code.
func codes(t *testing.T, reason fault.Reason) []string {
	t.Helper()
	s := fault.Status(fault.New(reason, "no"))
	h, err := binding.New(refusing{s.Err()}, binding.Config{
		Cards: func(context.Context, string) (*a2apb.AgentCard, error) { return nil, nil },
		Clock: clock.System{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func(path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, req)
		return w
	}
	rest := call("/message:send", `{"message":{"messageId":"m"}}`)
	var said struct {
		Error struct {
			Code   int
			Status string
		}
	}
	if err := json.Unmarshal(rest.Body.Bytes(), &said); err != nil {
		t.Fatalf("%s: %v", rest.Body, err)
	}
	grpcName := said.Error.Status
	rpc := call("/rpc", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`)
	if err := json.Unmarshal(rpc.Body.Bytes(), &said); err != nil {
		t.Fatalf("%s: %v", rpc.Body, err)
	}
	return []string{strconv.Itoa(rest.Code), grpcName, strconv.Itoa(said.Error.Code)}
}

func TestTheTableOfErrorsIsThatOfTheCode(t *testing.T) {
	documented := map[string][]string{}
	for _, cells := range read(t, "docs/api.md").rows() {
		if len(cells) == 5 {
			http, _, _ := strings.Cut(cells[2], " ")
			documented[cells[0]] = []string{http, cells[3], cells[4]}
		}
	}
	for _, reason := range reasons(t) {
		if got, want := documented[string(reason)], codes(t, reason); !slices.Equal(got, want) {
			t.Errorf("docs/api.md says %s %v; the bindings answer %v (%v)", reason, got, want, status.Code(fault.Status(fault.New(reason, "no")).Err()))
		}
	}
}

// keys are the YAML keys of a configuration, at every depth.
func keys(kind reflect.Type) []string {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct || kind.PkgPath() == "time" {
		return nil
	}
	var all []string
	for i := range kind.NumField() {
		f := kind.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case tag == "-":
		case options == "inline":
			all = append(all, keys(f.Type)...)
		default:
			all = append(append(all, tag), keys(f.Type)...)
		}
	}
	return all
}

func TestEveryKeyOfEveryConfigurationIsDocumented(t *testing.T) {
	guide := read(t, "docs/operator-guide.md")
	named := regexp.MustCompile(`\x60([a-z_.\[\]]+)\x60`)
	documented := map[string]bool{}
	for _, m := range named.FindAllStringSubmatch(guide.text(), -1) {
		for _, part := range strings.Split(m[1], ".") {
			documented[strings.TrimSuffix(part, "[]")] = true
		}
	}
	for name, config := range map[string]any{
		"gateway": gateway.Config{}, "security": security.Config{}, "planner": planner.Config{}, "research": research.Config{}, "memory": memory.Config{},
		"executor": executor.Config{}, "validator": validator.Config{}, "review": review.Config{}, "partners": partners.Config{}, "console": console.Config{},
	} {
		found := keys(reflect.TypeOf(config))
		if len(found) < 5 {
			t.Errorf("%s: only the keys %v were found", name, found)
		}
		for _, key := range found {
			if key != "" && !documented[key] {
				t.Errorf("docs/operator-guide.md does not name the key %s of %s", key, name)
			}
		}
	}
}

// metrics are the names that the code registers.
func metrics(t *testing.T) []string {
	t.Helper()
	named := regexp.MustCompile(`"(sabha_[a-z_]+)"`)
	var all []string
	for _, dir := range []string{"/chassis", "/services", "/cmd"} {
		err := filepath.WalkDir(root+dir, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			raw, err := os.ReadFile(file)
			for _, m := range named.FindAllStringSubmatch(string(raw), -1) {
				all = append(all, m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 10 {
		t.Fatalf("only the metrics %v were found", all)
	}
	return all
}

func TestTheMetricsOfTheGuideAreThoseOfTheCode(t *testing.T) {
	code := metrics(t)
	guide := regexp.MustCompile(`sabha_[a-z_]+`).FindAllString(read(t, "docs/operator-guide.md").text(), -1)
	for _, name := range code {
		if !slices.Contains(guide, name) {
			t.Errorf("the guide does not have %s", name)
		}
	}
	for _, name := range guide {
		if !slices.Contains(code, name) {
			t.Errorf("the code does not have %s", name)
		}
	}
}

// direct are the third-party modules that a go.mod requires directly.
func direct(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []string
	require := regexp.MustCompile(`^(?:require )?\s*(\S+\.\S+/?\S*) v\S+$`)
	for s := bufio.NewScanner(io.Reader(f)); s.Scan(); {
		if m := require.FindStringSubmatch(s.Text()); m != nil && !strings.HasPrefix(m[1], "sabha.dev/") {
			all = append(all, m[1])
		}
	}
	return all
}

func TestEveryDependencyHasAReason(t *testing.T) {
	reasons := map[string]string{}
	for _, cells := range read(t, "docs/dependencies.md").rows() {
		if len(cells) > 1 {
			reasons[cells[0]] = cells[len(cells)-1]
		}
	}
	files, err := filepath.Glob(root + "/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"/services/*/go.mod", "/cmd/*/go.mod"} {
		more, err := filepath.Glob(root + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	if len(files) < 10 {
		t.Fatalf("only %v were found", files)
	}
	for _, file := range files {
		for _, module := range direct(t, file) {
			if reasons[module] == "" {
				t.Errorf("docs/dependencies.md gives no reason for %s, which %s requires", module, strings.TrimPrefix(file, root+"/"))
			}
		}
	}
}
