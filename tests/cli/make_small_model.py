#!/usr/bin/env python3
"""Writes a small ONNX model for tests: y = relu(x @ w), x float32 [n, 4]. make_small_model.py FILE"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])
w = numpy_helper.from_array(np.arange(16, dtype=np.float32).reshape(4, 4) / 8 - 1, "w")
nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="matmul"), helper.make_node("Relu", ["product"], ["y"], name="relu")]
graph = helper.make_graph(nodes, "small", [x], [y], [w])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
