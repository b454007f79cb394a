// Evaluates device selectors with the compiler that kube-scheduler v1.36 uses: one JSON case
// {"expression", "device"} a line in, one answer a line out. Only tests and `make cel` run it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

type device struct {
	Driver                   string                     `json:"driver"`
	Attributes               map[string]json.RawMessage `json:"attributes"`
	Capacity                 map[string]string          `json:"capacity"`
	AllowMultipleAllocations bool                       `json:"allowMultipleAllocations"`
}

type input struct {
	Expression string `json:"expression"`
	Device     device `json:"device"`
}

type answer struct {
	Outcome string  `json:"outcome"` // true, false, compile, runtime or cost
	Error   string  `json:"error,omitempty"`
	Cost    *uint64 `json:"cost,omitempty"`
	MaxCost uint64  `json:"maxCost,omitempty"`
}

func convert(d device) (cel.Device, error) {
	out := cel.Device{
		Driver:                   d.Driver,
		AllowMultipleAllocations: ptr.To(d.AllowMultipleAllocations),
		Attributes:               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{},
		Capacity:                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{},
	}
	for name, raw := range d.Attributes {
		var attribute resourceapi.DeviceAttribute
		if err := json.Unmarshal(raw, &attribute); err != nil {
			return out, err
		}
		out.Attributes[resourceapi.QualifiedName(name)] = attribute
	}
	for name, text := range d.Capacity {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return out, err
		}
		out.Capacity[resourceapi.QualifiedName(name)] = resourceapi.DeviceCapacity{Value: quantity}
	}
	return out, nil
}

func evaluate(in input, estimate bool) (out answer) {
	defer func() {
		// A literal map with bytes as keys panics in the planner.
		if problem := recover(); problem != nil {
			out = answer{Outcome: "compile", Error: fmt.Sprintf("panic: %v", problem)}
		}
	}()
	d, err := convert(in.Device)
	if err != nil {
		return answer{Outcome: "input", Error: err.Error()}
	}
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true})
	compiled := compiler.CompileCELExpression(
		in.Expression, cel.Options{DisableCostEstimation: !estimate})
	if compiled.Error != nil {
		return answer{Outcome: "compile", Error: compiled.Error.Detail}
	}
	if estimate {
		out.MaxCost = compiled.MaxCost
	}
	matches, details, err := compiled.DeviceMatches(context.Background(), d)
	if details != nil {
		out.Cost = details.ActualCost()
	}
	switch {
	case err == nil:
		out.Outcome = fmt.Sprintf("%v", matches)
	case strings.Contains(err.Error(), "actual cost limit exceeded"):
		out.Outcome = "cost"
		out.Cost = nil
	default:
		out.Outcome, out.Error = "runtime", err.Error()
	}
	return out
}

func main() {
	estimate := len(os.Args) > 1 && os.Args[1] == "-estimate"
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(make([]byte, 1<<20), 1<<26)
	writer := bufio.NewWriter(os.Stdout)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for scanner.Scan() {
		var in input
		if err := json.Unmarshal(scanner.Bytes(), &in); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := encoder.Encode(evaluate(in, estimate)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
