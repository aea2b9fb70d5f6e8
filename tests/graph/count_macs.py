"""Counts parameters and multiply-accumulates of the OCR models again, in Python, and compares with graph_describe.

count_macs.py GRAPH_DESCRIBE

The shapes come from formulas written here for the operators of the PP-OCRv4 detector, not from onnx's shape inference.
"""

import glob
import math
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

found = glob.glob(os.path.join(os.environ["REQUAL_DEPS"], "models", "*", "ch_PP-OCRv4_det_infer.onnx"))
if not found:
    print("skipped: the OCR models are not in the dependency folder; run scripts/setup")
    sys.exit(77)


def attributes(node):
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


def count(path, inputs):
    """Walks the graph with shapes only. Returns (macs by output name, parameters, parameter bytes)."""
    model = onnx.load(path)
    shapes = {name: tuple(shape) for name, shape in inputs.items()}
    values = {}
    macs = {}
    parameters = size = 0
    for node in model.graph.node:
        given = attributes(node)
        first = shapes.get(node.input[0]) if node.input else None
        if node.op_type == "Constant":
            array = numpy_helper.to_array(given["value"])
            values[node.output[0]] = array
            shape = array.shape
            parameters += array.size
            size += array.nbytes
        elif node.op_type in ("Conv", "ConvTranspose"):
            weights = shapes[node.input[1]]
            spatial = len(weights) - 2
            strides = given.get("strides", [1] * spatial)
            dilations = given.get("dilations", [1] * spatial)
            pads = given.get("pads", [0] * 2 * spatial)
            same = given.get("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER")
            out = []
            for i in range(spatial):
                window = dilations[i] * (weights[2 + i] - 1) + 1
                padding = pads[i] + pads[i + spatial]
                if node.op_type == "Conv":
                    out.append(math.ceil(first[2 + i] / strides[i]) if same
                               else (first[2 + i] + padding - window) // strides[i] + 1)
                else:
                    out.append(strides[i] * (first[2 + i] - 1) + window - padding)
            group = given.get("group", 1)
            if node.op_type == "Conv":
                assert weights[1] * group == first[1]
                shape = (first[0], weights[0], *out)
                # each output element is a sum over the window and the group's input channels
                macs[node.output[0]] = math.prod(shape) * weights[1] * math.prod(weights[2:])
            else:
                assert weights[0] == first[1]
                shape = (first[0], weights[1] * group, *out)
                # each input element goes into the window of every output channel of its group
                macs[node.output[0]] = math.prod(first) * weights[1] * math.prod(weights[2:])
        elif node.op_type in ("Add", "Sub", "Mul", "Div"):
            shape = np.broadcast_shapes(first, shapes[node.input[1]])
        elif node.op_type in ("Relu", "Clip", "HardSigmoid", "Sigmoid", "BatchNormalization"):
            shape = first
        elif node.op_type == "GlobalAveragePool":
            shape = (*first[:2], *[1] * (len(first) - 2))
        elif node.op_type == "Resize":
            if len(node.input) > 3 and node.input[3]:
                shape = tuple(values[node.input[3]])
            else:
                shape = tuple(math.floor(a * b) for a, b in zip(first, values[node.input[2]]))
        elif node.op_type == "Concat":
            axis = given["axis"]
            shape = list(first)
            shape[axis] = sum(shapes[each][axis] for each in node.input)
            shape = tuple(shape)
        else:
            raise SystemExit(f"no formula here for {node.op_type}")
        shapes[node.output[0]] = shape
    return macs, parameters, size


for shape in ((1, 3, 320, 320), (2, 3, 640, 480)):
    macs, parameters, size = count(found[0], {"x": shape})
    text = subprocess.run([sys.argv[1], found[0], "x=" + "x".join(map(str, shape))], check=True,
                          capture_output=True, text=True).stdout
    lines = [line.split(maxsplit=2) for line in text.splitlines()]
    told = {line[0]: int(line[1]) for line in lines if line[0] != "node"}
    nodes = {line[2]: int(line[1]) for line in lines if line[0] == "node"}
    assert nodes == macs, {name: (nodes.get(name), value) for name, value in macs.items() if nodes.get(name) != value}
    assert told["macs"] == sum(macs.values()), (told["macs"], sum(macs.values()))
    assert told["parameters"] == parameters, (told["parameters"], parameters)
    assert told["parameter_bytes"] == size
    assert told["unknown"] == 0 and told["warnings"] == 0
    print(f"{shape}: {told['macs']} multiply-accumulates in {len(macs)} nodes, {parameters} parameters: the same")
