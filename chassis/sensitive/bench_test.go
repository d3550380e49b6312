package sensitive_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"sabha.dev/chassis/sensitive"
)

// prose is what people and agents write to each other; nothing in it is sensitive.
const prose = `Thank you for your letter about the mortgage on the house in Lisbon. We have looked at the papers and would like to
ask for two more documents before Friday: the survey of the roof, and the statement of the bank that lent the first
part. The rate of 3.45 percent that we spoke about holds until the end of the month. If that suits you, please sign
on page 12 and send the form back; the office is open from 9:00 to 17:30. Order 48213 was closed on 2026-04-17.
`

// corpora are the texts that inspection is measured on, each of about a megabyte.
func corpora() map[string]string {
	var digits, json strings.Builder
	for i := 0; digits.Len() < 1<<20; i++ {
		fmt.Fprintf(&digits, "2026-04-%02d 12:%02d:%02d,%d,%d.%02d,%08x,10%d,%d-%d\n", 1+i%28, i%60, i*7%60, 100000+i*7919, i*37, i%100, i*2654435761, i%900, 2000+i%20, i%1000)
	}
	for i := 0; json.Len() < 1<<20; i++ {
		fmt.Fprintf(&json, `{"id":"c2f%05d","type":"order","status":"shipped","items":[{"sku":"A-%d","quantity":%d,"price":%d.%02d}],"note":"left at the door, thank you","created":"2026-04-%02dT10:%02d:00Z"}`+"\n",
			i, i*31, i%9+1, i%500, i%100, 1+i%28, i%60)
	}
	return map[string]string{
		"text":      strings.Repeat(prose, 1<<20/len(prose)),
		"sensitive": strings.Repeat(prose+mixture, 1<<20/len(prose+mixture)),
		"digits":    digits.String(),
		"json":      json.String(),
		"base64":    strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg\n", 8192),
	}
}

// BenchmarkScan tells how fast text is inspected with every detector on: MB/s of a core.
func BenchmarkScan(b *testing.B) {
	for name, text := range corpora() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			piece := []byte(text)
			began := spent(b)
			for b.Loop() {
				s := sensitive.NewScanner()
				s.Write(piece)
				s.Close()
			}
			perCore(b, len(text), spent(b)-began)
		})
	}
}

// BenchmarkJSON tells how fast parsed JSON is inspected by path.
func BenchmarkJSON(b *testing.B) {
	list := &structpb.ListValue{}
	size := 0
	for line := range strings.Lines(corpora()["json"]) {
		v := &structpb.Value{}
		if err := v.UnmarshalJSON([]byte(line)); err != nil {
			b.Fatal(err)
		}
		list.Values = append(list.Values, v)
		size += len(line)
	}
	document := structpb.NewListValue(list)
	b.SetBytes(int64(size))
	began := spent(b)
	for b.Loop() {
		sensitive.JSON(document)
	}
	perCore(b, size, spent(b)-began)
}

// spent gives the processor time of this process, which other work on the machine does not
// lengthen as it does the time on the clock.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func perCore(b *testing.B, size int, took time.Duration) {
	b.ReportMetric(float64(size)*float64(b.N)/1e6/took.Seconds(), "cpu-MB/s")
}
