package grounding

import "math"

// opinion is how probable each verdict is.
type opinion struct {
	supported, contradicted, unsaid float64
}

// groups are issues that weigh alike.
var groups = [][]issueKind{
	{numberDiffers, dateDiffers, nameDiffers},
	{numberMoved, dateMoved, nameMoved},
	{numberMissing, dateMissing},
	{nameMissing},
	{partMissing},
	{denied},
	{opposite, boundTurned},
	{orderTurned, actorDiffers},
	{scopeWidened, onlyDenied},
	{scopeUnsaid, onlyUnsaid, conditionLost},
}

// features are what the judge knows of a comparison, each about 0 to 1.
func (c *comparison) features() []float64 {
	words := math.Max(1, float64(c.words))
	f := []float64{
		1,
		c.coverage,
		math.Max(0, 0.6-c.coverage),
		math.Min(4, float64(c.fresh)) / 4,
		float64(c.fresh) / words,
		math.Log(words) / 3,
		float64(c.disagree) / math.Max(1, float64(c.agree+c.disagree)),
		float64(min(3, len(c.issues))) / 3,
	}
	excluding := 0.0
	for _, group := range groups {
		v := 0.0
		if c.has(group...) {
			v = 1
			if group[0].excludes() {
				excluding = 1
			}
		}
		f = append(f, v)
	}
	turned, both := 0.0, 0.0
	if c.turned {
		turned = 1
		if c.has(denied) {
			both = 1
		}
	}
	against, byDenial, byNumber := 0.0, 0.0, 0.0
	if c.rival != nil {
		against = c.rival.coverage
		switch c.rival.kind {
		case denied:
			byDenial = c.rival.coverage
		case numberDiffers:
			byNumber = c.rival.coverage
		}
	}
	return append(f, excluding*c.coverage, against, byDenial, byNumber, turned, both)
}

// weigh gives the probabilities by the weights.
func (c *comparison) weigh() opinion {
	var z [3]float64
	for i, v := range c.features() {
		for k := range z {
			z[k] += weights[k][i] * v
		}
	}
	p := softmax(z)
	return opinion{p[0], p[1], p[2]}
}

func softmax(z [3]float64) [3]float64 {
	top := math.Max(z[0], math.Max(z[1], z[2]))
	sum := 0.0
	for k := range z {
		z[k] = math.Exp(z[k] - top)
		sum += z[k]
	}
	for k := range z {
		z[k] /= sum
	}
	return z
}
