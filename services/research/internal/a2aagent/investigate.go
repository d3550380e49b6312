package a2aagent

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/services/research/internal/answer"
	"sabha.dev/services/research/internal/retrieval"
)

// artifactID is the same in every run of a task, so that a run that is
// repeated after a restart replaces its artifact.
const artifactID = "passages"

// mostQuestions bounds the sentences that are searched for.
const mostQuestions = 8

func (s *skills) investigate(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	q, err := read(run.Request().Message, investigateDefault, investigateMost)
	if err != nil {
		return agent.Outcome{}, err
	}
	asked := questions(q.Text)
	var found []retrieval.Result
	for i, text := range asked {
		progress := fmt.Sprintf("Searching for %q", shorten(text))
		if len(asked) > 1 {
			progress += fmt.Sprintf(" (%d of %d)", i+1, len(asked))
		}
		if err := run.Working(agent.Message(agent.Text(progress))); err != nil {
			return agent.Outcome{}, err
		}
		one := q.Query
		one.Text = text
		results, err := s.engine.Search(ctx, one)
		if err != nil {
			return agent.Outcome{}, q.locate(err)
		}
		found = merge(found, results)
	}
	if len(asked) > 1 {
		// Scores of different searches do not compare; confidences do.
		slices.SortStableFunc(found, func(a, b retrieval.Result) int { return cmp.Compare(b.Confidence, a.Confidence) })
	}
	a := answer.New(q.Query, s.engine.Embedding(), found[:min(len(found), q.Limit)])
	parts, err := parts(a)
	if err != nil {
		return agent.Outcome{}, err
	}
	if err := run.Artifact(&a2apb.Artifact{
		ArtifactId: artifactID, Name: "Passages", Description: "What the documents say, best first, with the place of each passage.", Parts: parts,
	}); err != nil {
		return agent.Outcome{}, err
	}
	return agent.Completed(agent.Text(a.Sentence())), nil
}

// sentence ends where its mark is followed by a blank, or at a line's end.
var sentence = regexp.MustCompile(`[.?!;।]\s+|\n+`)

// questions are what to search for: the whole text and, when it has
// several sentences, each of them.
func questions(text string) []string {
	out := []string{text}
	for _, s := range sentence.Split(text, -1) {
		if s = strings.TrimRight(strings.TrimSpace(s), ".?!;।"); len(strings.Fields(s)) > 1 && len(out) <= mostQuestions {
			out = append(out, s)
		}
	}
	if len(out) <= 2 {
		return []string{text}
	}
	return out
}

// merge keeps each passage once, with its best confidence.
func merge(all, more []retrieval.Result) []retrieval.Result {
	for _, r := range more {
		i := slices.IndexFunc(all, func(have retrieval.Result) bool {
			return have.Document == r.Document && have.Ordinal == r.Ordinal
		})
		switch {
		case i < 0:
			all = append(all, r)
		case r.Confidence > all[i].Confidence:
			all[i] = r
		}
	}
	return all
}

func shorten(text string) string {
	const most = 80
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
