// Package replicas tests that several of each service are one platform: any of
// them serves any call, and what one of them began another carries on.
package replicas
