package a2aagent_test

// job is the partner's task; artifacts are ids and texts in turn.
func job(state, text string, artifacts ...string) map[string]any {
	t := map[string]any{"id": "theirs", "contextId": "their-context", "status": status(state, text)}
	var list []any
	for i := 0; i+1 < len(artifacts); i += 2 {
		list = append(list, map[string]any{"artifactId": artifacts[i], "parts": []any{map[string]any{"text": artifacts[i+1]}}})
	}
	if list != nil {
		t["artifacts"] = list
	}
	return t
}

func update(state, text string) any {
	return map[string]any{"statusUpdate": map[string]any{"taskId": "theirs", "contextId": "their-context", "status": status(state, text)}}
}

func chunk(id, text string, more, last bool) any {
	return map[string]any{"artifactUpdate": map[string]any{
		"taskId": "theirs", "contextId": "their-context", "append": more, "lastChunk": last,
		"artifact": map[string]any{"artifactId": id, "parts": []any{map[string]any{"text": text}}},
	}}
}
