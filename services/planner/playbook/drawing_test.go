package playbook

import (
	"bytes"
	"testing"
)

func TestGraphs(t *testing.T) {
	p := mustParse(t, reviewed)
	for format, want := range map[Format]string{
		TextFormat: `reviewed version 1.2.0 (budget 5m, risk low)
  search    research/search     [budget 1m]
  recall    memory/recall       [budget 1m; optional]
  │
  ▼
  draft     planner/synthesise  ◀ recall, search  [budget 1m]
  │
  ▼
  validate  validator/validate  ◀ draft  [budget 1m; back to draft until steps.validate.output.data.confidence >= 0.6, at most 2 times; threshold 0.6]
  │
  ▼
  keep      memory/remember     ◀ validate  [budget 1m; when input.remember; side effects; undone by memory/forget]
`,
		DOTFormat: `digraph "reviewed" {
  rankdir=TB;
  node [shape=box, fontname="sans-serif"];
  "search" [label="search\nresearch/search"];
  "recall" [label="recall\nmemory/recall", style=dashed];
  "draft" [label="draft\nplanner/synthesise"];
  "validate" [label="validate\nvalidator/validate"];
  "keep" [label="keep\nmemory/remember", style=dashed];
  "recall" -> "draft";
  "search" -> "draft";
  "draft" -> "validate";
  "validate" -> "keep";
  "validate" -> "draft" [style=dotted, constraint=false, label="revise, max 2"];
}
`,
		MermaidFormat: `flowchart TD
  s_search["search<br/>research/search"]
  s_recall["recall<br/>memory/recall"]
  s_draft["draft<br/>planner/synthesise"]
  s_validate["validate<br/>validator/validate"]
  s_keep["keep<br/>memory/remember"]
  s_recall --> s_draft
  s_search --> s_draft
  s_draft --> s_validate
  s_validate --> s_keep
  s_validate -. "revise, max 2" .-> s_draft
`,
	} {
		t.Run(string(format), func(t *testing.T) {
			var b bytes.Buffer
			if err := p.Graph(&b, format); err != nil {
				t.Fatal(err)
			}
			if b.String() != want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
	if err := p.Graph(&bytes.Buffer{}, "png"); err == nil || err.Error() != `unknown format "png"; use text, dot or mermaid` {
		t.Errorf("unknown format: %v", err)
	}
}
