module sabha.dev/bench

go 1.26.0

require (
	sabha.dev/chassis v0.0.0
	sabha.dev/cmd/sabha v0.0.0
	sabha.dev/gen v0.0.0
	sabha.dev/playbooks v0.0.0
	sabha.dev/services/console v0.0.0
	sabha.dev/services/executor v0.0.0
	sabha.dev/services/gateway v0.0.0
	sabha.dev/services/memory v0.0.0
	sabha.dev/services/planner v0.0.0
	sabha.dev/services/research v0.0.0
	sabha.dev/services/security v0.0.0
	sabha.dev/services/validator v0.0.0
	sabha.dev/testrig v0.0.0
)

replace (
	sabha.dev/chassis => ../chassis
	sabha.dev/cmd/sabha => ../cmd/sabha
	sabha.dev/gen => ../gen
	sabha.dev/services/console => ../services/console
	sabha.dev/services/executor => ../services/executor
	sabha.dev/services/gateway => ../services/gateway
	sabha.dev/services/memory => ../services/memory
	sabha.dev/services/planner => ../services/planner
	sabha.dev/services/research => ../services/research
	sabha.dev/services/security => ../services/security
	sabha.dev/services/validator => ../services/validator
	sabha.dev/testrig => ../testrig
)

replace sabha.dev/playbooks => ../playbooks
