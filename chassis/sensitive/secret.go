package sensitive

import (
	"bytes"
	"strings"
)

// set is the bytes that a key goes on with.
type set [256]bool

func setOf(chars string) *set {
	s := &set{}
	for c := range 256 {
		s[c] = alnum(byte(c)) || strings.IndexByte(chars, byte(c)) >= 0 && c != 0
	}
	return s
}

var (
	plainSet  = setOf("")
	wordSet   = setOf("_")
	urlSet    = setOf("_-")
	dotSet    = setOf("_-.")
	base64Set = setOf("+/=_-")
	pathSet   = setOf("/_-")
	pemSet    = setOf("+/=\\ \n\r\t:,-")
	slackSet  = setOf("-")
	upperOnly = &set{}
	hexOnly   = &set{}
)

// known is a beginning of keys of a provider.
type known struct {
	text     string
	kind     string
	min, max int // characters behind it
	chars    *set
	mixed    bool // it has digits and letters behind it
}

var knownKeys = []known{
	{"AKIA", "aws-access-key", 16, 16, upperOnly, false},
	{"ASIA", "aws-access-key", 16, 16, upperOnly, false},
	{"ABIA", "aws-access-key", 16, 16, upperOnly, false},
	{"ACCA", "aws-access-key", 16, 16, upperOnly, false},
	{"AROA", "aws-access-key", 17, 17, upperOnly, true},
	{"AIDA", "aws-access-key", 17, 17, upperOnly, true},
	{"AIza", "gcp-api-key", 30, 40, urlSet, false},
	{"ya29.", "gcp-access-token", 20, maxRun, dotSet, false},
	{"GOCSPX-", "gcp-client-secret", 20, 40, urlSet, false},
	{"1//0", "gcp-refresh-token", 30, 200, urlSet, true},
	{"ghp_", "github-token", 30, 255, wordSet, false},
	{"gho_", "github-token", 30, 255, wordSet, false},
	{"ghu_", "github-token", 30, 255, wordSet, false},
	{"ghs_", "github-token", 30, 255, wordSet, false},
	{"ghr_", "github-token", 30, 255, wordSet, false},
	{"github_pat_", "github-token", 22, 255, wordSet, false},
	{"glpat-", "gitlab-token", 18, 300, dotSet, false},
	{"gldt-", "gitlab-token", 18, 100, urlSet, false},
	{"glrt-", "gitlab-token", 18, 300, dotSet, false},
	{"glptt-", "gitlab-token", 18, 100, urlSet, false},
	{"glcbt-", "gitlab-token", 18, 100, urlSet, false},
	{"glsoat-", "gitlab-token", 18, 100, urlSet, false},
	{"glft-", "gitlab-token", 18, 100, urlSet, false},
	{"glagent-", "gitlab-token", 18, 100, urlSet, false},
	{"xoxb-", "slack-token", 10, 255, slackSet, true},
	{"xoxp-", "slack-token", 10, 255, slackSet, true},
	{"xoxa-", "slack-token", 10, 255, slackSet, true},
	{"xoxr-", "slack-token", 10, 255, slackSet, true},
	{"xoxs-", "slack-token", 10, 255, slackSet, true},
	{"xoxe-", "slack-token", 10, 255, slackSet, true},
	{"xoxe.xox", "slack-token", 10, 255, slackSet, true},
	{"xoxc-", "slack-token", 10, 255, slackSet, true},
	{"xoxd-", "slack-token", 10, 255, setOf("-%"), true},
	{"xapp-", "slack-token", 10, 255, slackSet, true},
	{"hooks.slack.com/services/", "slack-webhook", 20, 100, pathSet, false},
	{"discord.com/api/webhooks/", "discord-webhook", 20, 200, pathSet, true},
	{"sk_live_", "stripe-key", 10, 255, wordSet, false},
	{"sk_test_", "stripe-key", 10, 255, wordSet, false},
	{"rk_live_", "stripe-key", 10, 255, wordSet, false},
	{"rk_test_", "stripe-key", 10, 255, wordSet, false},
	{"whsec_", "stripe-webhook-secret", 16, 255, base64Set, false},
	{"sk-ant-", "anthropic-key", 16, 255, urlSet, true},
	{"sk-proj-", "openai-key", 16, 255, urlSet, true},
	{"sk-svcacct-", "openai-key", 16, 255, urlSet, true},
	{"sk-admin-", "openai-key", 16, 255, urlSet, true},
	{"sk-or-", "openrouter-key", 16, 255, urlSet, true},
	{"sk-", "api-key", 16, 255, urlSet, true},
	{"SG.", "sendgrid-key", 30, 255, dotSet, true},
	{"SK", "twilio-key", 32, 32, hexOnly, true},
	{"AC", "twilio-account", 32, 32, hexOnly, true},
	{"key-", "mailgun-key", 32, 32, hexOnly, true},
	{"npm_", "npm-token", 36, 36, plainSet, false},
	{"pypi-", "pypi-token", 40, 255, urlSet, true},
	{"dop_v1_", "digitalocean-token", 32, 64, plainSet, false},
	{"doo_v1_", "digitalocean-token", 32, 64, plainSet, false},
	{"shpat_", "shopify-token", 32, 32, plainSet, false},
	{"shpss_", "shopify-token", 32, 32, plainSet, false},
	{"shpca_", "shopify-token", 32, 32, plainSet, false},
	{"sq0atp-", "square-token", 20, 60, urlSet, false},
	{"sq0csp-", "square-token", 20, 60, urlSet, false},
	{"EAAA", "square-token", 56, 80, urlSet, true},
	{"hf_", "huggingface-token", 30, 60, plainSet, false},
	{"hvs.", "vault-token", 20, 255, urlSet, false},
	{"hvb.", "vault-token", 20, 255, urlSet, false},
	{"dapi", "databricks-token", 32, 34, hexOnly, true},
	{"dckr_pat_", "docker-token", 20, 60, urlSet, false},
	{"lin_api_", "linear-key", 30, 60, plainSet, false},
	{"secret_", "notion-token", 40, 50, plainSet, true},
	{"ntn_", "notion-token", 40, 60, plainSet, true},
	{"ATATT3", "atlassian-token", 50, 300, base64Set, true},
	{"glsa_", "grafana-token", 30, 60, wordSet, true},
	{"glc_", "grafana-token", 30, 300, base64Set, true},
	{"NRAK-", "newrelic-key", 20, 40, plainSet, false},
	{"sntrys_", "sentry-token", 30, 300, base64Set, false},
	{"PMAK-", "postman-key", 40, 80, urlSet, false},
	{"rubygems_", "rubygems-key", 40, 60, plainSet, true},
	{"figd_", "figma-token", 30, 60, urlSet, false},
	{"pat-na1-", "hubspot-token", 30, 40, urlSet, true},
	{"xkeysib-", "brevo-key", 50, 100, urlSet, true},
	{"gsk_", "groq-key", 40, 60, plainSet, true},
	{"r8_", "replicate-token", 30, 45, plainSet, true},
	{"pplx-", "perplexity-key", 40, 60, plainSet, true},
	{"xai-", "xai-key", 60, 100, plainSet, true},
	{"sbp_", "supabase-token", 36, 60, plainSet, true},
	{"tfp_", "typeform-token", 30, 80, urlSet, true},
	{"nfp_", "netlify-token", 30, 60, plainSet, true},
	{"vercel_blob_rw_", "vercel-token", 20, 80, wordSet, false},
	{"AGE-SECRET-KEY-1", "age-key", 50, 60, plainSet, false},
	{"EAAC", "facebook-token", 40, 300, plainSet, true},
	{"dp.pt.", "doppler-token", 40, 60, plainSet, true},
	{"dp.st.", "doppler-token", 40, 80, dotSet, true},
	{"dp.ct.", "doppler-token", 40, 60, plainSet, true},
	{"tskey-", "tailscale-key", 20, 80, urlSet, true},
	{"pscale_tkn_", "planetscale-token", 30, 80, urlSet, false},
	{"pscale_pw_", "planetscale-token", 30, 80, urlSet, false},
	{"pul-", "pulumi-token", 40, 40, hexOnly, true},
	{"shippo_live_", "shippo-token", 40, 40, hexOnly, true},
	{"EZAK", "easypost-key", 50, 60, plainSet, true},
	{"CFPAT-", "contentful-token", 40, 50, urlSet, true},
	{"sgp_", "sourcegraph-token", 40, 80, wordSet, true},
	{"LTAI", "alibaba-access-key", 12, 22, plainSet, true},
	{"nvapi-", "nvidia-key", 50, 80, urlSet, true},
	{"tvly-", "tavily-key", 28, 60, urlSet, true},
	{"fo1_", "fly-token", 40, 60, urlSet, true},
	{"ATBB", "bitbucket-token", 32, 32, plainSet, true},
	{"ATCTT3", "atlassian-token", 50, 300, base64Set, true},
	{"BBDC-", "bitbucket-token", 40, 50, base64Set, true},
	{"phx_", "posthog-key", 40, 60, plainSet, true},
	{"oy2", "nuget-key", 43, 43, plainSet, true},
	{"ops_eyJ", "1password-token", 100, maxRun, base64Set, true},
	{"SCW", "scaleway-key", 17, 17, upperOnly, true},
	{"APP_USR-", "mercadopago-token", 30, 90, urlSet, true},
	{"rzp_live_", "razorpay-key", 14, 14, plainSet, false},
	{"rzp_test_", "razorpay-key", 14, 14, plainSet, false},
	{"access_token$", "braintree-token", 30, 90, setOf("_$"), true},
	{"amzn.mws.", "amazon-token", 36, 36, urlSet, true},
	{"ABSK", "aws-bedrock-key", 80, 200, base64Set, true},
	{"squ_", "sonar-token", 40, 40, hexOnly, true},
	{"sqp_", "sonar-token", 40, 40, hexOnly, true},
	{"AKC", "artifactory-key", 60, 80, plainSet, true},
	{"HRKU-", "heroku-key", 36, 70, urlSet, true},
	{"dckr_oat_", "docker-token", 20, 60, urlSet, false},
	{"rpa_", "runpod-key", 40, 60, plainSet, true},
	{"pcsk_", "pinecone-key", 40, 90, wordSet, true},
	{"lsv2_pt_", "langsmith-key", 32, 60, wordSet, true},
	{"lsv2_sk_", "langsmith-key", 32, 60, wordSet, true},
	{"xprv", "bitcoin-key", 107, 107, plainSet, true},
	{"AAAA", "fcm-key", 140, 200, setOf("_-:"), true},
}

// prefixes are the known beginnings by their first byte.
var prefixes = func() (by [256][]known) {
	for c := '0'; c <= '9'; c++ {
		upperOnly[c], hexOnly[c] = true, true
	}
	for c := 'A'; c <= 'Z'; c++ {
		upperOnly[c] = true
	}
	for c := 'a'; c <= 'f'; c++ {
		hexOnly[c] = true
	}
	for _, k := range knownKeys {
		by[k.text[0]] = append(by[k.text[0]], k)
	}
	by['e'] = append(by['e'], known{text: "eyJ", kind: "jwt", chars: urlSet})
	for _, begins := range []string{"MT", "MD", "Mj", "Mz", "NT", "ND", "Nj", "Nz", "OT", "OD", "Oj", "Oz"} { // digits in base64
		by[begins[0]] = append(by[begins[0]], known{text: begins, kind: "discord-token", chars: urlSet})
	}
	return by
}()

// beginnings has a bit for each beginning of three bytes.
var beginnings = func() (bits [1 << 10]uint64) {
	set := func(a, b, c byte) {
		n := beginning(a, b, c)
		bits[n>>6] |= 1 << (n & 63)
	}
	for _, list := range prefixes {
		for _, k := range list {
			if len(k.text) > 2 {
				set(k.text[0], k.text[1], k.text[2])
				continue
			}
			for c := range 128 {
				if urlSet[c] {
					set(k.text[0], k.text[1], byte(c))
				}
			}
		}
	}
	return bits
}()

// beginning is the place of three bytes among the bits; few share one.
func beginning(a, b, c byte) int { return (int(a)<<8 | int(b)) ^ int(c)*0x6B5&0xFFFF }

// mayBeKey tells whether a key may begin at i.
func (s *Scanner) mayBeKey(i int) bool {
	if i+2 >= len(s.buf) {
		return true
	}
	n := beginning(s.buf[i], s.buf[i+1], s.buf[i+2])
	return beginnings[n>>6]&(1<<(n&63)) != 0
}

// secret tells a key with a known beginning at i. The answer says that it has, or that it
// has to wait.
func (s *Scanner) secret(i int) bool {
	if left := s.at(i - 1); left == '_' {
		return false
	}
	for _, k := range prefixes[s.buf[i]] {
		if !s.begins(i, k.text) {
			if s.need {
				return true
			}
			continue
		}
		end := 0
		switch k.kind {
		case "jwt":
			end = s.jwt(i)
		case "discord-token":
			end = s.discord(i)
		default:
			end = s.tail(i+len(k.text), k)
		}
		if s.need {
			return true
		}
		if end > 0 {
			s.tell(k.kind, i, end, k.chars)
			return true
		}
	}
	return false
}

// tell tells a key. One that was cut off at the bound goes on.
func (s *Scanner) tell(kind string, start, end int, chars *set) {
	s.emit(Secret, kind, start, end)
	if end-start >= maxRun {
		s.open = opened{kind: kind, until: chars, from: s.sourceEnd(s.base + int64(end))}
	}
}

func (s *Scanner) begins(i int, text string) bool {
	for k := range len(text) {
		if s.at(i+k) != text[k] {
			return false
		}
	}
	return true
}

// tail gives the end of what follows a known beginning, or 0.
func (s *Scanner) tail(from int, k known) int {
	i, digits, letters := from, 0, 0
	for i-from < k.max && i-from < maxRun && k.chars[s.at(i)] {
		if digit(s.buf[i]) {
			digits++
		} else if letter(s.buf[i]) {
			letters++
		}
		i++
	}
	for i > from && (s.buf[i-1] == '.' || s.buf[i-1] == '-' && i-from > k.min) {
		i--
	}
	if i-from < k.min || k.chars == plainSet && alnum(s.at(i)) || (k.chars == upperOnly || k.chars == hexOnly) && alnum(s.at(i)) {
		return 0
	}
	if k.mixed && (digits < 2 || letters == 0 && k.chars != slackSet) {
		return 0
	}
	if same(s.buf[from:i]) {
		return 0
	}
	return i
}

// jwt gives the end of a JSON web token (RFC 7519): two or three parts in base64url.
func (s *Scanner) jwt(i int) int {
	k, dots, part := i, 0, i
	for k-i < maxRun {
		c := s.at(k)
		if c == '.' && dots < 2 && k-part >= 8 {
			dots++
			k++
			part = k
			continue
		}
		if !urlSet[c] {
			break
		}
		k++
	}
	if s.buf[k-1] == '.' && dots == 2 {
		return k
	}
	for k > i && s.buf[k-1] == '.' {
		k--
		dots--
	}
	if dots == 0 || k-i < 30 {
		return 0
	}
	return k
}

// hyphen looks at what may begin a private key in PEM form (RFC 7468) at i.
func (s *Scanner) hyphen(i int) {
	if !s.begins(i, "-----BEGIN ") {
		if !s.need {
			s.pos++
		}
		return
	}
	k := i + len("-----BEGIN ")
	for k-i < 80 && s.at(k) != '-' && s.at(k) != 0 && s.at(k) != '\n' {
		k++
	}
	if s.need {
		return
	}
	if !bytes.Contains(s.buf[i:k], []byte("PRIVATE KEY")) || !s.begins(k, "-----") {
		if !s.need {
			s.pos = i + len("-----BEGIN ")
		}
		return
	}
	s.open = opened{kind: "private-key", until: pemSet, pem: true, from: s.source(s.base + int64(i)), size: k + 5 - i}
	s.pos = k + 5
}

// goOn reads on in a key whose end has not been seen. It tells false when it has to wait.
func (s *Scanner) goOn() bool {
	for s.pos < len(s.buf) {
		c := s.buf[s.pos]
		if s.open.pem && c == '-' && s.begins(s.pos, "-----END ") {
			k := s.pos + len("-----END ")
			for k-s.pos < 80 && (alnum(s.at(k)) || s.at(k) == ' ') {
				k++
			}
			for n := 0; n < 5 && s.at(k) == '-'; n++ {
				k++
			}
			if s.need {
				s.need = false
				return false
			}
			s.closeAt(k)
			return true
		}
		if s.need {
			s.need = false
			return false
		}
		if !s.open.until[c] {
			s.closeAt(s.pos)
			return true
		}
		s.pos++
		if s.open.size++; s.open.size >= maxRun {
			o := s.open
			s.closeAt(s.pos)
			o.from, o.size = s.sourceEnd(s.base+int64(s.pos)), 0
			s.open = o
		}
	}
	if s.final {
		s.closeAt(s.pos)
		return true
	}
	return false
}

// closeAt tells the open finding, which ends at a place in buf.
func (s *Scanner) closeAt(end int) {
	if s.open.size > 0 {
		s.found = append(s.found, Finding{Class: Secret, Kind: s.open.kind, Start: s.open.from, End: s.sourceEnd(s.base + int64(end))})
	}
	s.pos, s.lastEnd, s.open, s.words.last = end, end, opened{}, 0
}
