// Renders the chart where there is no helm: with the template engine that Helm is made of (Go's
// text/template and sprig), and stand-ins for the few functions that are Helm's own. On Debian:
//
//	apt-get install golang-go golang-github-masterminds-sprig-dev golang-github-ghodss-yaml-dev
//	deploy/helm/render/render.sh
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/ghodss/yaml"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) map[string]interface{} {
	text, err := os.ReadFile(path)
	check(err)
	values := map[string]interface{}{}
	check(yaml.Unmarshal(text, &values))
	return values
}

// As Helm puts the values given over those of the chart: maps are joined, all else replaced.
func join(over, under map[string]interface{}) map[string]interface{} {
	for key, value := range over {
		if inner, isMap := value.(map[string]interface{}); isMap {
			if below, both := under[key].(map[string]interface{}); both {
				under[key] = join(inner, below)
				continue
			}
		}
		under[key] = value
	}
	return under
}

func main() {
	chart, given := os.Args[1], os.Args[2]
	about := read(filepath.Join(chart, "Chart.yaml"))
	context := map[string]interface{}{
		"Values": join(read(given), read(filepath.Join(chart, "values.yaml"))),
		"Chart": map[string]interface{}{
			"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"],
		},
		"Release": map[string]interface{}{
			"Name": "leads", "Namespace": "leadgate", "Service": "Helm",
		},
	}

	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	root.Funcs(functions)

	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	check(err)
	sort.Strings(paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(err)
		_, err = root.New(filepath.Base(path)).Parse(string(text))
		check(err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		var out strings.Builder
		check(root.ExecuteTemplate(&out, name, context))
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(out.String()) != "" {
			fmt.Printf("---\n# Source: leadgate/templates/%s\n%s\n", name, strings.TrimSpace(out.String()))
		}
	}
}
