// Package serving has the serve command: addresses, keys, the browser, and the options of package serve.
package serving
