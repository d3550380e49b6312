package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"sabha.dev/chassis/fault"
	"sabha.dev/services/console/internal/page"
)

// Cookies of the pages themselves.
const (
	themeCookie = "theme"
	toastCookie = "toast"
)

// maxForm bounds what a form without files may bring, bytes.
const maxForm = 1 << 20

// write answers with a page that has been rendered as a whole, so that none is
// cut off in the middle.
func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var b bytes.Buffer
	if err := c.Render(r.Context(), &b); err != nil {
		s.log.Error("page was not rendered", "path", r.URL.Path, "error", err)
		http.Error(w, "The page could not be made; the reason is in the console's log.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// problem is a page that says why there is no other.
func problem(status int, title, text string) page.View {
	return page.View{Status: status, Title: title, Body: page.Problem(title, text), Still: true}
}

// unreadable is a page that could not be read: its service refuses to show it to this
// person, or gives no answer. who is the subject of the sentence that says so.
func (s *Site) unreadable(v page.View, who string, err error) page.View {
	if f := fault.FromStatus(err); f != nil && f.Reason == fault.PermissionDenied {
		refused := problem(http.StatusForbidden, "You may not see this", f.Message)
		refused.Section = v.Section
		return refused
	}
	v.Unread = who
	return v
}

// done answers a form: what was done, and where to go on. A script is told as
// JSON; a browser is led there and told on the page.
func (s *Site) done(w http.ResponseWriter, r *http.Request, text, next string) {
	s.tell(w, r, http.StatusOK, page.Toast{Tone: page.Good, Text: text}, next)
}

// refused answers a form whose action was not carried out, with what the service
// behind it says.
func (s *Site) refused(w http.ResponseWriter, r *http.Request, err error, back string) {
	status, text := http.StatusBadGateway, "The service behind this gave no answer. Whether it was done can be seen on the page; try again if not."
	if f := fault.FromStatus(err); f != nil && f.Reason != "" {
		status, text = http.StatusConflict, f.Message
	} else {
		s.log.Warn("an action failed", "path", r.URL.Path, "error", err)
	}
	s.tell(w, r, status, page.Toast{Tone: page.Bad, Text: text}, back)
}

// invalid answers a form that cannot be carried out as it was filled in.
func (s *Site) invalid(w http.ResponseWriter, r *http.Request, text, back string) {
	s.tell(w, r, http.StatusUnprocessableEntity, page.Toast{Tone: page.Bad, Text: text}, back)
}

// action registers what a form does. Its fields have been read when it is called.
func (s *Site) action(pattern string, do http.HandlerFunc) {
	s.screens.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			s.show(w, r, problem(http.StatusBadRequest, "The form cannot be read", "It may be too long; send less."))
			return
		}
		do(w, r)
	})
}

// file answers with something to keep. It is never shown as a page of the console.
func (s *Site) file(w http.ResponseWriter, kind, name string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
}

func (s *Site) tell(w http.ResponseWriter, r *http.Request, status int, t page.Toast, next string) {
	w.Header().Set("Cache-Control", "no-store")
	if strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		answer := struct {
			page.Toast
			Go string `json:"go,omitempty"`
		}{Toast: t}
		if t.Tone != page.Bad && next != r.Header.Get("Sabha-At") {
			answer.Go = next
		}
		if answer.Go != "" {
			s.keep(w, t) // it is told where the reader goes
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	s.keep(w, t)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// keep has a toast shown on the next page.
func (s *Site) keep(w http.ResponseWriter, t page.Toast) {
	raw, err := json.Marshal(t)
	if err != nil || len(raw) > 2000 {
		raw = []byte(`{"tone":"` + string(t.Tone) + `","text":"See below for what came of it."}`)
	}
	http.SetCookie(w, &http.Cookie{
		Name: toastCookie, Value: base64.RawURLEncoding.EncodeToString(raw), Path: "/", MaxAge: 60, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// takeToast is what was kept for this page, once.
func takeToast(w http.ResponseWriter, r *http.Request) page.Toast {
	c, err := r.Cookie(toastCookie)
	if err != nil {
		return page.Toast{}
	}
	http.SetCookie(w, &http.Cookie{Name: toastCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	var t page.Toast
	if err != nil || json.Unmarshal(raw, &t) != nil {
		return page.Toast{}
	}
	return t
}

// theme remembers the appearance that somebody has chosen.
func (s *Site) theme(w http.ResponseWriter, r *http.Request) {
	cookie := &http.Cookie{Name: themeCookie, Value: r.PostFormValue("theme"), Path: "/", MaxAge: 400 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	switch cookie.Value {
	case "light", "dark":
	case "system":
		cookie.Value, cookie.MaxAge = "", -1
	default:
		s.show(w, r, problem(http.StatusBadRequest, "There is no such appearance", "Choose system, light or dark."))
		return
	}
	http.SetCookie(w, cookie)
	s.tell(w, r, http.StatusOK, page.Toast{}, back(r))
}

// back is the page that a form was sent from, when it is of this console.
func back(r *http.Request) string {
	next := r.PostFormValue("back")
	if next == "" {
		next = r.Header.Get("Sabha-At")
	}
	if strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") && !strings.ContainsAny(next, "\\\r\n") {
		return next
	}
	return "/"
}
