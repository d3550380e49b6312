package drift

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// maxCategories of a measure that are told apart; the rarest share one.
const maxCategories = 20

// clipped bounds what one value weighs in a mean, in standard deviations.
const clipped = 10

// aspect is one way in which runs may differ.
type aspect struct {
	measure, name, category string
	columns                 []int     // one: its size; several: their squares
	weights                 []float64 // of the squares; nil: 1
	degrees                 float64   // of freedom of the squares
	// inflation is how much larger than of independent runs the variance is.
	inflation float64
}

// strength is the aspect as a number of standard errors, larger for rarer.
func (a aspect) strength(sums []float64, inflation float64) float64 {
	if len(a.columns) == 1 && a.degrees == 0 {
		return math.Abs(sums[a.columns[0]]) / math.Sqrt(inflation)
	}
	var squares float64
	for i, c := range a.columns {
		w := 1.0
		if a.weights != nil {
			w = a.weights[i]
		}
		squares += w * sums[c] * sums[c]
	}
	// Wilson and Hilferty (1931): the cube root of a chi-square is nearly normal.
	spread := 2 / (9 * a.degrees)
	return (math.Cbrt(squares/inflation/a.degrees) - (1 - spread)) / math.Sqrt(spread)
}

// matrix has a row for each run and a column for each score of it.
type matrix struct {
	rows    [][]float64
	width   int
	aspects []aspect
}

func (m *matrix) column(values []float64) int {
	for i := range m.rows {
		m.rows[i] = append(m.rows[i], values[i])
	}
	m.width++
	return m.width - 1
}

// scale has the columns' sums over n shuffled rows be of mean 0 and variance 1. A column that
// is the same in every run stays 0.
func (m *matrix) scale(n int) {
	all := float64(len(m.rows))
	for c := range m.width {
		var mean, squares float64
		for _, row := range m.rows {
			mean += row[c] / all
		}
		for _, row := range m.rows {
			squares += (row[c] - mean) * (row[c] - mean)
		}
		by := 0.0
		if squares > 1e-12 {
			k := float64(n)
			by = 1 / math.Sqrt(k*(all-k)/(all*(all-1))*squares)
		}
		for _, row := range m.rows {
			row[c] = (row[c] - mean) * by
		}
	}
}

// count estimates how far the runs of the baseline follow each other. Runs that do are
// fewer than they seem: (1+r)/(1-r) is the variance of their mean over that of as many
// independent ones, r the correlation of one with the next. What chance alone gives is not
// taken for it.
func (m *matrix) count(baseline int) {
	for i, a := range m.aspects {
		var r float64
		for _, c := range a.columns {
			r += follow(m.rows[:baseline], c) / float64(len(a.columns))
		}
		m.aspects[i].inflation = 1
		if r > 1/math.Sqrt(float64(baseline*len(a.columns))) {
			r = min(r, 0.9)
			m.aspects[i].inflation = (1 + r) / (1 - r)
		}
	}
}

// follow is the correlation of a column with itself one run later.
func follow(rows [][]float64, c int) float64 {
	var mean, squares, products float64
	for _, row := range rows {
		mean += row[c] / float64(len(rows))
	}
	for i, row := range rows {
		squares += (row[c] - mean) * (row[c] - mean)
		if i > 0 {
			products += (row[c] - mean) * (rows[i-1][c] - mean)
		}
	}
	if squares < 1e-12 {
		return 0
	}
	return products / squares
}

func (m *matrix) sum(into []float64, at []int) {
	clear(into)
	for _, i := range at {
		for c, v := range m.rows[i] {
			into[c] += v
		}
	}
}

// scores turns runs into rows. Every value is seen against all values of its own task,
// baseline and now together, so that shuffling runs changes no score.
func scores(runs []Run) *matrix {
	m := &matrix{rows: make([][]float64, len(runs))}
	numbers, categories := map[string][]string{}, map[string][]string{}
	for _, r := range runs {
		collect(numbers, r.Numbers)
		collect(categories, r.Categories)
	}
	for _, measure := range slices.Sorted(maps.Keys(numbers)) {
		m.numbers(runs, measure, numbers[measure])
	}
	for _, measure := range slices.Sorted(maps.Keys(categories)) {
		m.categories(runs, measure, categories[measure])
	}
	return m
}

// collect notes the tasks of each measure, in order.
func collect[V any](tasks map[string][]string, of map[Key]V) {
	for k := range of {
		if at, there := slices.BinarySearch(tasks[k.Measure], k.Task); !there {
			tasks[k.Measure] = slices.Insert(tasks[k.Measure], at, k.Task)
		}
	}
}

// value is one number and the run that it is of.
type value struct {
	run int
	x   float64
}

func (m *matrix) numbers(runs []Run, measure string, tasks []string) {
	level, mean, spread := make([]float64, len(runs)), make([]float64, len(runs)), make([]float64, len(runs))
	var each []int
	for _, task := range tasks {
		var list []value
		for i, r := range runs {
			for _, x := range r.Numbers[Key{measure, task}] {
				list = append(list, value{i, x})
			}
		}
		ranks := ranked(list)
		if len(ranks) == 0 || ranks[0] == ranks[len(ranks)-1] {
			continue // always the same: it tells nothing
		}
		own := make([]float64, len(runs))
		add(own, list, ranks)
		add(level, list, ranks)
		plain := make([]float64, len(list))
		for i, v := range list {
			plain[i] = v.x
		}
		add(mean, list, standard(plain))
		for i, u := range ranks {
			plain[i] = u * u
		}
		add(spread, list, standard(plain))
		each = append(each, m.column(own))
	}
	if len(each) == 0 {
		return
	}
	m.aspects = append(m.aspects,
		aspect{measure: measure, name: Level, columns: []int{m.column(level)}},
		aspect{measure: measure, name: Mean, columns: []int{m.column(mean)}},
		aspect{measure: measure, name: Spread, columns: []int{m.column(spread)}})
	if len(each) > 1 {
		m.aspects = append(m.aspects, aspect{measure: measure, name: Tasks, columns: each, degrees: float64(len(each))})
	}
}

func add(to []float64, list []value, score []float64) {
	for i, v := range list {
		to[v.run] += score[i]
	}
}

// ranked gives the standardised ranks of values; equal ones share theirs. The list is put
// in the order of its values.
func ranked(list []value) []float64 {
	slices.SortFunc(list, func(a, b value) int { return cmp.Compare(a.x, b.x) })
	ranks := make([]float64, len(list))
	for i := 0; i < len(list); {
		j := i
		for j < len(list) && list[j].x == list[i].x {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return standard(ranks)
}

// standard gives values as standard deviations from their mean; zeros when all are equal.
func standard(values []float64) []float64 {
	var mean, squares float64
	n := float64(len(values))
	for _, x := range values {
		mean += x / n
	}
	for _, x := range values {
		squares += (x - mean) * (x - mean)
	}
	sd := math.Sqrt(squares / n)
	out := make([]float64, len(values))
	if sd <= 1e-12*(1+math.Abs(mean)) {
		return out
	}
	for i, x := range values {
		out[i] = min(max((x-mean)/sd, -clipped), clipped)
	}
	return out
}

func (m *matrix) categories(runs []Run, measure string, tasks []string) {
	names := common(runs, measure)
	shares := make([][]float64, len(names))
	for i := range shares {
		shares[i] = make([]float64, len(runs))
	}
	var each []int
	var weights []float64
	degrees := 0.0
	for _, task := range tasks {
		counts, total := make([]float64, len(names)), 0.0
		own := make([][]float64, len(names))
		for c := range own {
			own[c] = make([]float64, len(runs))
		}
		for i, r := range runs {
			for _, name := range r.Categories[Key{measure, task}] {
				c := at(names, name)
				counts[c]++
				total++
				own[c][i]++
				shares[c][i]++
			}
		}
		seen := 0.0
		for c := range names {
			if counts[c] == 0 || counts[c] == total {
				continue
			}
			seen++
			each = append(each, m.column(own[c]))
			weights = append(weights, 1-counts[c]/total)
		}
		degrees += max(0, seen-1)
	}
	for c, name := range names {
		m.aspects = append(m.aspects, aspect{measure: measure, name: Share, category: name, columns: []int{m.column(shares[c])}})
	}
	if degrees > 1 {
		m.aspects = append(m.aspects, aspect{measure: measure, name: Mix, columns: each, weights: weights, degrees: degrees})
	}
}

// other is the category of what is too rare to be told apart.
const other = "(other)"

// common are the categories of a measure: the most frequent, and other for the rest.
func common(runs []Run, measure string) []string {
	counts := map[string]int{}
	for _, r := range runs {
		for k, names := range r.Categories {
			if k.Measure == measure {
				for _, name := range names {
					counts[name]++
				}
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(names) > maxCategories {
		names = append(names[:maxCategories-1], other)
	}
	return names
}

func at(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names) - 1
}
