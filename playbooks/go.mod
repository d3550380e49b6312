module sabha.dev/playbooks

go 1.26.0
