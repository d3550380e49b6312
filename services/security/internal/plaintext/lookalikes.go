package plaintext

// lookalikes maps letters of other scripts to the Latin letter they are taken
// for, in lower case and after decomposition. Chosen from the confusables of
// Unicode Technical Standard 39 that attacks are known to use.
var lookalikes = pairs(
	// Cyrillic
	"аa", "еe", "оo", "рp", "сc", "уy", "хx", "іi", "јj", "ѕs", "һh", "ԁd", "ԛq", "ԝw", "вb", "кk", "мm", "нh", "тt", "ӏl", "гr", "пn", "ѵv", "ү"+"y", "ӕ"+"a", "ьb", "эe",
	// Greek
	"αa", "βb", "εe", "ηn", "ιi", "κk", "μu", "νv", "οo", "ρp", "τt", "υu", "χx", "γy", "ωw", "ζz", "ϲc", "ϳj",
	// Armenian
	"օo", "սu", "հh", "ոn", "զq", "ցg", "ԛq", "ա"+"w", "ք"+"p", "յ"+"j", "լ"+"l",
	// Latin letters that do not decompose
	"ɡg", "ıi", "ɑa", "ʀr", "ɴn", "ɪi", "ʟl", "ʏy", "ᴀa", "ʙb", "ᴄc", "ᴅd", "ᴇe", "ꜰf", "ɢg", "ʜh", "ᴊj", "ᴋk", "ᴍm", "ᴏo", "ᴘp", "ꜱs", "ᴛt", "ᴜu", "ᴠv", "ᴡw", "ᴢz",
	"øo", "đd", "łl", "ħh", "ŧt", "ƀb", "ɓb", "ɗd", "ɩi", "ʋv",
	// Cherokee, in lower case
	"ꭰd", "ꭱr", "ꭲt", "ꭺa", "ꮃw", "ꮇm", "ꮋh", "ꮐg", "ꮓz", "ꮪs", "ꮯc", "ꮮl", "ꮲp", "ꮶk",
)

func pairs(list ...string) map[rune]rune {
	m := make(map[rune]rune, len(list))
	for _, p := range list {
		r := []rune(p)
		m[r[0]] = r[1]
	}
	return m
}
