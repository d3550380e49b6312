// Package a2aagent is the validator as an A2A agent: it reads an answer with
// its evidence out of a data part and hands back the judgement.
package a2aagent

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"sabha.dev/chassis/agent"
	"sabha.dev/chassis/label"

	"sabha.dev/services/validator/internal/judgement"
)

// Skills of the validator.
const (
	SkillValidate = "validate"
	SkillJudge    = "judge"
)

// artifactID names the artifact of a task; a second attempt replaces it.
const artifactID = "judgement"

// New makes the agent. Both skills give the same judgement: validate as a task
// with an artifact, judge as a direct Message.
//
// A confidence under the threshold is a result, not a failure: the task is
// completed with the verdict "fail", and who asked decides what follows.
func New(judge *judgement.Judge, version string) agent.Agent {
	v := &validator{judge}
	return agent.Agent{
		Tenant:      "validator",
		Name:        "validator",
		Description: "Judges an answer: each claim against the passages it cites, data against a schema and rules, numbers recomputed. Gives a confidence with its reasons.",
		Version:     version,
		Skills: []agent.Skill{
			{
				ID: SkillValidate, Name: "Validate an answer", ReadOnly: true, Tags: []string{"grounding", "assertions", "arithmetic"},
				Description: "Judges an answer in a task. The artifact holds the judgement as data and a summary as text; under the threshold its verdict is \"fail\".",
				Examples:    []string{`{"answer": "The fee is 5 EUR [1].", "passages": [{"id": "p1", "document": "fees.md", "text": "The fee is 5 EUR."}]}`},
				InputModes:  []string{"application/json"},
				Check:       v.check,
				Run:         v.run,
			},
			{
				ID: SkillJudge, Name: "Judge an answer", Tags: []string{"grounding", "assertions", "arithmetic"},
				Description: "The same judgement as a direct message, without a task.",
				Examples:    []string{`{"data": {"rate": 0.03}, "assertions": [{"name": "rate", "expression": "data.rate < 0.1"}]}`},
				InputModes:  []string{"application/json"},
				Check:       v.check,
				Answer:      v.answer,
			},
		},
	}
}

type validator struct {
	judge *judgement.Judge
}

// check refuses a request that cannot be judged before anything is stored.
func (v *validator) check(_ context.Context, req *agent.Request) error {
	request, path, err := decode(req.Message)
	if err != nil {
		return err
	}
	if problems := v.judge.Check(request); len(problems) > 0 {
		return invalid(path, problems)
	}
	return nil
}

func (v *validator) answer(ctx context.Context, req *agent.Request) (*a2apb.Message, error) {
	parts, _, err := v.parts(ctx, req.Message)
	if err != nil {
		return nil, err
	}
	return agent.Message(parts...), nil
}

func (v *validator) run(ctx context.Context, run agent.Run) (agent.Outcome, error) {
	if err := run.Working(agent.Message(agent.Text("judging the answer"))); err != nil {
		return agent.Outcome{}, err
	}
	parts, j, err := v.parts(ctx, run.Request().Message)
	if err != nil {
		return agent.Outcome{}, err
	}
	err = run.Artifact(&a2apb.Artifact{
		ArtifactId: artifactID, Name: "judgement", Description: "The confidence in the answer, with its reasons", Parts: parts,
	})
	if err != nil {
		return agent.Outcome{}, err
	}
	return agent.Completed(agent.Text(j.Headline())), nil
}

// parts are the judgement as data and its summary as text.
func (v *validator) parts(ctx context.Context, m *a2apb.Message) ([]*a2apb.Part, judgement.Judgement, error) {
	request, path, err := decode(m)
	if err != nil {
		return nil, judgement.Judgement{}, err
	}
	j, err := v.judge.Judge(ctx, request)
	var problems judgement.Problems
	switch {
	case errors.As(err, &problems):
		return nil, j, invalid(path, problems)
	case err != nil:
		return nil, j, err
	}
	data, err := agent.Data(j)
	if err != nil {
		return nil, j, err
	}
	labels := label.Of(m.GetParts()...) // a judgement quotes what it judges
	return []*a2apb.Part{labels.Put(data), labels.Put(agent.Text(j.Summary()))}, j, nil
}

func invalid(path string, problems judgement.Problems) error {
	r := &reader{}
	for _, p := range problems {
		r.problem(path+"."+p.Field, "%s", p.Text)
	}
	return r.err()
}
