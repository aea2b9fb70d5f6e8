#!/usr/bin/env python3
"""Writes a small ONNX model for tests: y = relu(x), x float32 [n, 4]. make_small_model.py FILE"""
import sys

import onnx
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "small", [x], [y])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
