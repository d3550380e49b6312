package playbook

import "fmt"

// Check applies the threshold to the run of its step. It expects the validator's answer: data with
// a number confidence and, as far as given, a text verdict ("pass" or "fail") and a list reasons.
func (t *Threshold) Check(step StepRun) Verdict {
	v := Verdict{MinConfidence: t.MinConfidence}
	switch step.State {
	case Completed:
	case Skipped:
		v.Reasons = []string{fmt.Sprintf("the answer was not validated: step %q was skipped", t.Step)}
		return v
	default:
		v.Reasons = []string{fmt.Sprintf("the answer was not validated: step %q did not complete", t.Step)}
		return v
	}
	confidence, ok := step.Output.Data["confidence"].(float64)
	if !ok || !(confidence >= 0 && confidence <= 1) {
		v.Reasons = []string{fmt.Sprintf("step %q gave no confidence between 0 and 1", t.Step)}
		return v
	}
	v.Confidence = confidence
	failed := step.Output.Data["verdict"] == "fail"
	v.Passed = confidence >= t.MinConfidence && !failed
	if !v.Passed {
		reason := fmt.Sprintf("the confidence of %.2f is under the threshold of %.2f", confidence, t.MinConfidence)
		if confidence >= t.MinConfidence {
			reason = fmt.Sprintf("step %q gave the verdict fail, at a confidence of %.2f", t.Step, confidence)
		}
		v.Reasons = append([]string{reason}, sentences(step.Output.Data["reasons"])...)
	}
	return v
}

// sentences takes the texts out of a JSON value that should be a text or a list of texts.
func sentences(v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		if v != "" {
			out = append(out, v)
		}
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok && s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
