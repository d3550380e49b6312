//go:build browser

package browser

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// shrink makes the pictures of the guide small enough for a repository: each keeps the
// 256 colours that it has most of, and the others become the nearest of them.
func shrink(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "guide-*.png"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		if err := shrinkOne(f); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func shrinkOne(name string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	whole, err := png.Decode(in)
	_ = in.Close()
	if err != nil {
		return err
	}
	box := whole.Bounds()
	count := map[color.RGBA]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c, _ := color.RGBAModel.Convert(whole.At(x, y)).(color.RGBA)
			count[c]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var kept color.Palette
	for _, c := range most[:min(len(most), 256)] {
		kept = append(kept, c)
	}
	small := image.NewPaletted(box, kept)
	draw.Draw(small, box, whole, box.Min, draw.Src)
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, small); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
