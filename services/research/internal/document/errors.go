package document

import (
	"errors"
	"fmt"
)

// Why a file cannot be read. Each sentence is fit to be shown to whoever
// ingests the folder.
var (
	ErrUnsupported = errors.New("not a file of a format that is read: Markdown, HTML, text, CSV, JSON or DOCX")
	ErrTooLarge    = errors.New("larger than 16 MiB; split it")
	ErrBinary      = errors.New("binary content (a NUL byte)")
	ErrEncoding    = errors.New("not valid UTF-8; convert it to UTF-8")
	ErrTooDeep     = errors.New("nested too deeply")
	ErrNoText      = errors.New("no text in it")
	ErrMislabelled = errors.New("not what its name says")
	ErrExpands     = errors.New("its text is more than 32 MiB; split it")
	ErrCSV         = errors.New("not valid CSV")
	ErrJSON        = errors.New("not valid JSON")
	ErrTooMany     = errors.New("more than 524288 values; split it")
	ErrDOCX        = errors.New("not a Word document that can be read")
	ErrInflates    = errors.New("its archive inflates beyond 64 MiB, or one piece of it beyond 4 MiB")
	ErrFrontMatter = errors.New("front matter is not valid YAML")
)

// Error names the file that cannot be read; it wraps one of the reasons.
type Error struct {
	Name string
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }
