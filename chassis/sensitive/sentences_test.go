package sensitive_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// example is a text with what is sensitive in it between «class:…».
type example struct{ text string }

// generated makes the same examples each time.
func generated() []example {
	m := maker{rand.New(rand.NewPCG(20261130, 7))}
	var list []example
	add := func(n int, class string, value func() (string, []string)) {
		for range n {
			v, frames := value()
			list = append(list, example{strings.Replace(m.pick(frames...), "@@", "«"+class+":"+v+"»", 1)})
		}
	}
	add(160, "phone", func() (string, []string) {
		v, bare := m.phone()
		if bare && m.IntN(2) == 0 {
			return v, []string{
				"You can reach her at @@ before noon.", "Anna Lee, 12 Hill Road, @@", "| Lee | @@ | Leeds |", "2026-04-17 12:00:01 INFO dialling @@", "Lee;Anna;@@;yes",
				`"contact": "@@"`, "Mvh Anna, @@", "Bis morgen! Anna (@@)", "Anna\n@@\nLeeds",
			}
		}
		return v, []string{
			"Please call @@ today.", "Tel: @@", "tel. @@", "Phone number: @@", "My mobile is @@.", "Telefon: @@", "Téléphone : @@", "Teléfono: @@", "Handy: @@", "cell @@",
			`{"phone": "@@", "active": true}`, "<phone>@@</phone>", "phone=@@&x=1", "mobile_number: @@", `"mobilePhone":"@@"`, "Telefoonnummer @@", "WhatsApp @@", "Llámame al @@", "Fax: @@",
			"telefono @@", "puhelin @@", "telefon @@", "Rufnummer: @@", "телефон: @@", "text me on @@",
		}
	})
	add(120, "card", func() (string, []string) {
		return m.card(), []string{
			"Pay with @@, please.", "card number @@ exp 12/28", "Visa @@", `{"pan":"@@"}`, "cc=@@", "<cardNumber>@@</cardNumber>", "Kreditkarte: @@", "Carte bancaire n° @@", "Tarjeta: @@",
			"2026-04-17T12:00:01Z charge @@ declined", "Lee,Anna,@@,12/28", "@@", "My old one was @@ and it expired.", `"number": "@@", "cvc": "***"`, "Karta: @@", "numero carta @@",
		}
	})
	add(100, "iban", func() (string, []string) {
		return m.iban(), []string{
			"Please transfer it to @@ by Friday.", "IBAN: @@", "IBAN @@ BIC DEUTDEFF", `{"iban":"@@"}`, "<iban>@@</iban>", "Konto @@", "Compte: @@", "rekening @@", "Lee;@@;120,00", "@@",
			"account=@@;", "Bankverbindung:\n@@", "debtor @@ creditor unknown",
		}
	})
	add(260, "national-id", func() (string, []string) {
		v, word, bare := m.id()
		frames := []string{
			word + ": @@", word + " @@", "My " + word + " is @@.", `{"` + strings.ToLower(strings.ReplaceAll(word, " ", "_")) + `": "@@"}`, word + " = @@", "Lee, Anna, " + word + " @@", "(" + word + " @@)",
			"| " + word + " | @@ |", word + ":\n@@",
		}
		if bare {
			frames = append(frames, "Lee;Anna;@@;yes", "It says @@ on the card.", "@@", `"value":"@@"`)
		}
		return v, frames
	})
	add(80, "email", func() (string, []string) {
		name, host := m.pick("anna", "j.smith", "o'neil", "maria_93", "info", "bob+news", "k-lee", "jörg", "x"), m.pick("example.com", "mail.example.co.uk", "uni-köln.de", "posta.example.it", "example.io", "sub.dept.example.org", "gmail.com")
		v := name + "@" + host
		if m.IntN(4) == 0 && !strings.Contains(name, "'") {
			dotted := strings.ReplaceAll(host, ".", m.pick(" dot ", " [dot] ", "(dot)"))
			v = m.pick(name+" at "+strings.ReplaceAll(host, ".", " dot "), name+" [at] "+dotted, name+"(at)"+host, name+" (at) "+host, name+" AT "+strings.ReplaceAll(host, ".", " DOT "))
		}
		return v, []string{
			"Write to @@.", "E-Mail: @@", "mailto:@@?subject=x", "Anna Lee <@@>", `{"email":"@@"}`, "<email>@@</email>", "Lee;@@;Leeds", "contact=@@", "Adresse: @@, merci", "From: @@", "(@@)",
			"user @@ logged in", "Correo: @@",
		}
	})
	add(100, "secret", func() (string, []string) {
		long := func(n int) string {
			const chars = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
			var b strings.Builder
			for range n {
				b.WriteByte(chars[m.IntN(len(chars))])
			}
			return b.String()
		}
		if m.IntN(3) == 0 {
			v := m.pick("hunter22!", "Tr0ub4dor&3", long(12), "S3cret-"+long(4), "pa55word123", long(16)+"=")
			return v, []string{
				"password=@@", "Password: @@", `{"password": "@@"}`, "my password is @@", "<password>@@</password>", `password = "@@"`, "DB_PASSWORD=@@", "Passwort: @@", "contraseña: @@", "mot de passe : @@",
				"export API_SECRET=@@", "mysql://root:@@@db.example.com/shop", "pwd=@@;", `"clientSecret":"@@"`, "wachtwoord: @@", "hasło: @@", "--password @@", "PGPASSWORD=@@ psql",
			}
		}
		v := m.pick("AKIA"+strings.ToUpper(long(16)), "ghp_"+long(36), "github_pat_"+long(22)+"_"+long(59), "glpat-"+long(20), "xoxb-2"+m.fill("###########-")+m.fill("############-")+long(24), "sk_live_"+long(24),
			"sk-proj-"+long(40), "sk-ant-api03-"+long(60), "AIza"+long(35), "SG."+long(22)+"."+long(43), "npm_"+long(36), "hf_"+long(34), "eyJhbGciOiJIUzI1NiJ9.eyJ"+long(30)+"."+long(43), "hvs."+long(24), "sk-"+long(32),
			"ya29."+long(60), "dop_v1_"+strings.Repeat("a1b2c3d4", 8), "whsec_"+long(32))
		return v, []string{
			"The key is @@.", "API_KEY=@@", `{"token":"@@"}`, "Authorization: Bearer @@", "curl -H 'X-Api-Key: @@' https://example.com", "@@", "token: @@", "key = '@@'", "- @@", "<apiKey>@@</apiKey>",
			"const k = \"@@\"", "https://example.com/?key=@@",
		}
	})
	add(80, "private-address", func() (string, []string) {
		v := m.pick(fmt.Sprintf("10.%d.%d.%d", m.IntN(256), m.IntN(256), m.IntN(255)), fmt.Sprintf("192.168.%d.%d", m.IntN(256), m.IntN(255)), fmt.Sprintf("172.%d.3.%d", 16+m.IntN(16), m.IntN(255)),
			"10.20.0.0/16", "fd12:3456:789a::"+fmt.Sprint(1+m.IntN(99)), "fe80::1ff:fe23:4567:890a", "db1.prod.internal", "wiki.corp", "printer-3.local", "ip-10-2-3-4.ec2.internal", "vault.service.lan",
			"api.default.svc.cluster.local", "intranet-01.acme.corp", "nas.home.arpa")
		return v, []string{
			"The server is @@ now.", "host: @@", "connect to @@:8443", "https://@@/admin", `{"host":"@@"}`, "2026-04-17 12:00 WARN upstream @@ timed out", "DB_HOST=@@", "ssh -l root @@", "ping @@", "from @@ to",
		}
	})
	fields := map[string][][2]string{
		"date-of-birth":  {{"date_of_birth", "dob|dateOfBirth|birth_date|Date of birth|Born|Geburtsdatum|Fecha de nacimiento|Date de naissance|data di nascita|DOB"}, {"", "1980-03-12|12/03/1980|12.03.1980|3/12/80|12 March 1980|March 12, 1980|12. Mai 1980|12-Mar-1980|19800312"}},
		"finances":       {{"", "salary|annual_income|monthlySalary|Gross pay|Gehalt|salaire|Salario|net income|creditScore|Jahresgehalt"}, {"", "52000|4,350.00|€52,000|52.000|$4,350|720|£38,500"}},
		"person-name":    {{"", "first_name|lastName|full_name|Surname|Vorname|Nachname|apellidos|cardholderName|patient_name|Given name"}, {"", "Anna|O'Neil|Anna Lee|van der Berg|García Pérez|Jörg|Li Wei"}},
		"postal-address": {{"", "home_address|streetAddress|billing_address|Address|Anschrift|Dirección|postcode|zip_code|mailing address|Wohnadresse"}, {"", "12 High Street, Leeds|Hauptstr. 5, 50667 Köln|Calle Mayor 3, 28013 Madrid|10115|SW1A 1AA|221b Baker Street"}},
		"bank-account":   {{"", "account_number|accountNo|bank_account|sort_code|routing_number|Kontonummer|Account number"}, {"", "12345678|021000021|87-65-43-21|0012345678"}},
		"health":         {{"", "diagnosis|medication|blood_type|allergies|medical_condition|Diagnose|disability"}, {"", "type 2 diabetes|A negative|penicillin|asthma|ibuprofen 400 mg"}},
		"personal":       {{"", "religion|ethnicity|nationality|marital_status|sexual_orientation|gender|political_opinion|Staatsangehörigkeit"}, {"", "catholic|Spanish|married|female|none stated|green"}},
	}
	for _, class := range []string{"date-of-birth", "finances", "person-name", "postal-address", "bank-account", "health", "personal"} {
		names, values := strings.Split(strings.TrimPrefix(strings.Join(fields[class][0][:], "|"), "|"), "|"), strings.Split(fields[class][1][1], "|")
		add(60, class, func() (string, []string) {
			key := m.pick(names...)
			tag := strings.ReplaceAll(key, " ", "_")
			frames := []string{`{"` + tag + `": "@@"}`, `"` + tag + `":"@@","active":true`, "<" + tag + ">@@</" + tag + ">", tag + "=\"@@\""}
			v := m.pick(values...)
			if class != "personal" && class != "health" && !(class == "person-name" && strings.HasPrefix(v, "van")) && !(class == "postal-address" && !strings.Contains(v, " ")) {
				frames = append(frames, key+": @@", "- "+key+": @@\n- Notes: none")
			}
			return v, frames
		})
	}
	return append(list, negatives(m)...)
}

// negatives are texts of business in which nothing is sensitive.
func negatives(m maker) []example {
	var list []example
	frames := []string{
		"Order #@@ was shipped on %d.", "Invoice @@ is due on %d.", "Order number: @@", "Ref: @@", "Tracking number @@ at the depot", "ticket @@ closed", "case no. @@", "batch @@ released", "SKU @@", "serial number @@",
		"part no @@", "reference @@ / %d", `{"order_id":"@@","created":"%d"}`, "PO @@", "Bestellnummer @@ vom %d", "Facture n° @@ du %d", "Pedido @@", "transaction id @@", "booking @@ confirmed", "meter reading @@ kWh",
	}
	for range 260 {
		id := m.pick(m.fill("##########"), m.fill("########"), m.fill("############"), m.fill("################"), m.fill("###-#######-#######"), m.fill("A#########"), m.fill("####-####-##"), m.fill("#########"), m.fill("##-#####"),
			m.fill("INV-2026-####"), m.fill("#############"), m.fill("1Z###?##########"), m.fill("?##?-####"), m.fill("###############"))
		d, mo, y := m.date()
		date := m.pick(fmt.Sprintf("%d-%02d-%02d", y+30, mo, d), fmt.Sprintf("%02d/%02d/%d", d, mo, y+30), fmt.Sprintf("%02d.%02d.%d", d, mo, y+30), fmt.Sprintf("%d-%02d-%02dT10:20:30Z", y+30, mo, d))
		list = append(list, example{strings.ReplaceAll(strings.Replace(m.pick(frames...), "@@", id, 1), "%d", date)})
	}
	hex := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("0123456789abcdef"[m.IntN(16)])
		}
		return b.String()
	}
	for range 200 {
		list = append(list, example{m.pick(
			"commit "+hex(40), "sha256:"+hex(64), hex(8)+"-"+hex(4)+"-4"+hex(3)+"-a"+hex(3)+"-"+hex(12), `{"id":"`+hex(8)+"-"+hex(4)+"-4"+hex(3)+"-b"+hex(3)+"-"+hex(12)+`"}`, "etag \""+hex(32)+"\"", "md5 "+hex(32),
			fmt.Sprintf("version %d.%d.%d.%d", m.IntN(20), m.IntN(20), m.IntN(99), m.IntN(999)), fmt.Sprintf("v10.%d.%d.%d", m.IntN(20), m.IntN(99), m.IntN(99)), fmt.Sprintf("%d.%d.%d-beta.%d", m.IntN(20), m.IntN(20), m.IntN(99), m.IntN(9)),
			fmt.Sprintf("lat %d.%06d, lon -%d.%06d", m.IntN(90), m.IntN(1e6), m.IntN(180), m.IntN(1e6)), fmt.Sprintf("(%d.%05d, %d.%05d)", m.IntN(90), m.IntN(1e5), m.IntN(180), m.IntN(1e5)),
			fmt.Sprintf("ISBN 978-%d-%03d-%05d-%d", m.IntN(9), m.IntN(999), m.IntN(99999), m.IntN(9)), fmt.Sprintf("%d bytes in %d.%03d s", m.IntN(1e9), m.IntN(9), m.IntN(999)), fmt.Sprintf("ts=%d level=info took=%dms", 1700000000+m.IntN(1e8), m.IntN(999)),
			fmt.Sprintf("\"timestamp\": %d", 1700000000000+m.Int64N(1e11)), fmt.Sprintf("revenue of %d,%03d,%03d in %d", m.IntN(99), m.IntN(999), m.IntN(999), 2015+m.IntN(10)), fmt.Sprintf("%d %03d %03d EUR turnover", 1+m.IntN(99), m.IntN(999), m.IntN(999)),
			fmt.Sprintf("build %d.%d passed", m.IntN(9999), m.IntN(99)), fmt.Sprintf("8.8.%d.%d answered", m.IntN(255), m.IntN(255)), fmt.Sprintf("GET /items/%d?page=%d 200 %d", m.IntN(1e8), m.IntN(99), m.IntN(1e6)),
			fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d.%03d worker-%d done", 2020+m.IntN(9), 1+m.IntN(12), 1+m.IntN(28), m.IntN(24), m.IntN(60), m.IntN(60), m.IntN(999), m.IntN(99)),
			fmt.Sprintf("EAN 40%011d", m.Int64N(1e11)), fmt.Sprintf("IMEI 35%013d", m.Int64N(1e13)), fmt.Sprintf("data:image/png;base64,iVBORw0KGgo%s=", hex(60)), fmt.Sprintf("port %d on node-%d", 1024+m.IntN(60000), m.IntN(99)),
			fmt.Sprintf("Rows %d to %d of %d", m.IntN(1e5), m.IntN(1e6), m.IntN(1e8)), fmt.Sprintf("CVE-%d-%05d", 2015+m.IntN(11), m.IntN(99999)), fmt.Sprintf("page %d-%d, vol. %d(%d)", m.IntN(900), 900+m.IntN(99), m.IntN(90), m.IntN(12)),
			fmt.Sprintf("%d x %d x %d mm", m.IntN(999), m.IntN(999), m.IntN(999)), fmt.Sprintf("HS code %04d.%02d.%02d", m.IntN(9999), m.IntN(99), m.IntN(99)), fmt.Sprintf("%d/%d tests, %d skipped", m.IntN(9999), m.IntN(9999), m.IntN(99)))})
	}
	return list
}
