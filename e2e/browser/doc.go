// Package browser drives the console in Chromium, on a platform started as its
// operators start it. Its tests have the build tag browser: `make test-browser`.
package browser
