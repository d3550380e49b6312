module sabha.dev/services/partners

go 1.26.0

replace (
	sabha.dev/chassis => ../../chassis
	sabha.dev/gen => ../../gen
	sabha.dev/testrig => ../../testrig
)
