package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/disclosure"
	"sabha.dev/chassis/strictyaml"
	"sabha.dev/cmd/sabha/internal/render"
)

// maxDisclosed bounds the file that is explained.
const maxDisclosed = 16 << 20

func (r *run) egress() *cobra.Command {
	c := &cobra.Command{Use: "egress", Short: "Tell what may leave for a partner, without a platform", Args: cobra.NoArgs}
	c.AddCommand(r.egressExplain())
	return group(c)
}

func (r *run) egressExplain() *cobra.Command {
	var (
		to         disclosure.Recipient
		agreements string
		asJSON     bool
	)
	c := &cobra.Command{
		Use: "explain FILE", Short: "Show what of a file would leave for a partner, in which form, and why", Args: exactly(1),
		Long: `Explain inspects a file as partners does before a call, by the disclosure section of the
partner's agreement: a JSON object as the inputs of a step are sent, a text as a text, anything else as a file. It
shows what was found and where, with values masked, what the policy does about each and by which rule, and what
would leave. Nothing is sent. The exit code is 4 when the policy refuses.`,
		Example: "  sabha egress explain application.json --partner underwriter --skill underwrite --agreements agreements\n" +
			"  sabha egress explain letter.txt --partner underwriter --purpose mortgage --consent mortgage",
		RunE: func(c *cobra.Command, args []string) error {
			if to.Partner == "" {
				return usagef("--partner says whose agreement counts; give its name")
			}
			policy, err := readDisclosure(agreements, &to)
			var problems strictyaml.Problems
			if errors.As(err, &problems) {
				fmt.Fprintln(r.Err, render.Clean(problems.Error()))
				return ended{ExitFailure}
			}
			if err != nil {
				return err
			}
			part, err := disclosed(args[0])
			if err != nil {
				return err
			}
			result, shown, err := policy.Explain(c.Context(), to, []*a2apb.Part{part})
			if err != nil {
				return err
			}
			if asJSON {
				err = r.egressJSON(result, shown)
			} else {
				err = r.say(strings.Join(render.Disclosure(result, shown, to, r.style()), "\n"))
			}
			if err == nil && result.Refused != "" {
				return ended{ExitRejected}
			}
			return err
		},
	}
	c.Flags().StringVar(&to.Partner, "partner", "", "name of the partner")
	c.Flags().StringVar(&to.Skill, "skill", "", "skill that is asked for; rules may depend on it")
	c.Flags().StringVar(&to.Purpose, "purpose", "", "purpose of the disclosure")
	c.Flags().StringSliceVar(&to.Consents, "consent", nil, "a purpose that was consented to; may be repeated")
	c.Flags().StringVar(&agreements, "agreements", "agreements", "folder of the agreements")
	c.Flags().BoolVar(&asJSON, "json", false, "print findings and what would leave as one JSON object")
	return c
}

// readDisclosure finds a partner's agreement in a folder and reads who it is and what may
// leave for it; the rest of the file is not looked at.
func readDisclosure(folder string, to *disclosure.Recipient) (*disclosure.Policy, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, &failure{ExitNotFound, fmt.Sprintf("the agreements in %s cannot be read; name their folder with --agreements", folder), ""}
	}
	var names []string
	for _, e := range entries {
		ending := filepath.Ext(e.Name())
		if e.IsDir() || ending != ".yaml" && ending != ".yml" {
			continue
		}
		file := filepath.Join(folder, e.Name())
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var policy *disclosure.Policy
		name := ""
		err = strictyaml.Parse(file, data, func(root strictyaml.Node) {
			for _, entry := range root.Entries() {
				switch entry.Key {
				case "partner":
					name = entry.Value.Text()
				case "organisation":
					if name == "" || name == to.Partner {
						to.Organisation = entry.Value.Text()
					}
				case "disclosure":
					policy = disclosure.Parse(entry.Value)
				}
			}
		})
		if name == to.Partner {
			return policy, err
		}
		to.Organisation = ""
		names = append(names, name)
	}
	next := "there is none in it"
	if len(names) > 0 {
		next = "there are agreements with " + strings.Join(names, ", ")
	}
	return nil, &failure{ExitNotFound, fmt.Sprintf("no agreement in %s is with %s", folder, to.Partner), next}
}

// disclosed reads a file as the part that would leave.
func disclosed(file string) (*a2apb.Part, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure{ExitNotFound, fmt.Sprintf("there is no file %s", file), ""}
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxDisclosed+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDisclosed {
		return nil, usagef("%s is larger than %d MiB", file, maxDisclosed>>20)
	}
	kind, _, _ := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(file)))
	switch {
	case !utf8.Valid(data), kind != "application/json" && kind != "text/plain" && kind != "text/markdown" && kind != "":
		return &a2apb.Part{Content: &a2apb.Part_Raw{Raw: data}, MediaType: kind, Filename: filepath.Base(file)}, nil
	case json.Valid(data) && strings.HasPrefix(strings.TrimSpace(string(data)), "{"):
		v := &structpb.Value{}
		if err := v.UnmarshalJSON(data); err != nil {
			return nil, usagef("%s is no JSON that a part can hold: %v", file, err)
		}
		return &a2apb.Part{Content: &a2apb.Part_Data{Data: v}, MediaType: "application/json"}, nil
	}
	return &a2apb.Part{Content: &a2apb.Part_Text{Text: string(data)}, MediaType: "text/plain"}, nil
}

func (r *run) egressJSON(result disclosure.Result, shown []string) error {
	type finding struct {
		disclosure.Finding
		Masked string `json:"masked,omitempty"`
	}
	out := struct {
		Refused  string            `json:"refused,omitempty"`
		Findings []finding         `json:"findings"`
		Parts    []json.RawMessage `json:"parts"`
	}{Refused: result.Refused, Findings: []finding{}, Parts: []json.RawMessage{}}
	for i, f := range result.Findings {
		out.Findings = append(out.Findings, finding{f, shown[i]})
	}
	for _, p := range result.Parts {
		raw, err := protojson.Marshal(p)
		if err != nil {
			return fmt.Errorf("egress: %w", err)
		}
		out.Parts = append(out.Parts, raw)
	}
	raw, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("egress: %w", err)
	}
	return r.say(string(raw))
}
