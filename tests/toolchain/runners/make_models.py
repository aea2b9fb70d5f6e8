"""Writes the models that the runners' tests load: make_models.py FOLDER. Equal onnx versions give equal bytes."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def value(name, element_type, shape):
    return helper.make_tensor_value_info(name, element_type, shape)


def save(name, nodes, inputs, outputs, initializers=(), opset=17, ir=8, check=True, extra_opsets=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in extra_opsets]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir, producer_name="requal-tests")
    if check:
        onnx.checker.check_model(model)
    onnx.save(model, os.path.join(folder, name + ".onnx"))
    return model


def node(op, inputs, outputs, name=None, **attributes):
    return helper.make_node(op, inputs, outputs, name=name or op.lower() + "_" + outputs[0], **attributes)


F = TensorProto.FLOAT
random = np.random.default_rng(1)

# every element type through: y = x, by an operator that takes it
for word, element_type in [
    ("float32", F), ("float64", TensorProto.DOUBLE), ("float16", TensorProto.FLOAT16), ("bfloat16", TensorProto.BFLOAT16),
    ("int8", TensorProto.INT8), ("int16", TensorProto.INT16), ("int32", TensorProto.INT32), ("int64", TensorProto.INT64),
    ("uint8", TensorProto.UINT8), ("uint16", TensorProto.UINT16), ("uint32", TensorProto.UINT32),
    ("uint64", TensorProto.UINT64), ("bool", TensorProto.BOOL), ("string", TensorProto.STRING),
]:
    shape = numpy_helper.from_array(np.array([3, 2], np.int64), "shape")
    save("reshape_" + word, [node("Reshape", ["x", "shape"], ["y"], "reshape")],
         [value("x", element_type, [2, 3])], [value("y", element_type, [3, 2])], [shape])

# a convolution between dynamic axes with names
weights = numpy_helper.from_array(random.standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
save("conv", [node("Conv", ["x", "w"], ["c"], "first_conv", pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"], "first_relu"),
              node("GlobalAveragePool", ["r"], ["y"], "pool")],
     [value("x", F, ["batch", 3, "height", "width"])], [value("y", F, ["batch", 4, 1, 1])], [weights])
# the same axis name on two inputs; an axis without a name
save("pair", [node("Add", ["a", "b"], ["y"], "add")],
     [value("a", F, ["n", 2]), value("b", F, ["n", 2])], [value("y", F, ["n", 2])])
save("unnamed_axis", [node("Relu", ["x"], ["y"], "relu")], [value("x", F, [None, 2])], [value("y", F, [None, 2])])
# an output that is another tensor under a second name, and one input unused
save("alias", [node("Relu", ["x"], ["a"], "relu"), node("Identity", ["a"], ["z"], "same"), node("Add", ["a", "x"], ["b"], "add")],
     [value("x", F, [2]), value("unused", F, [1])], [value("z", F, [2]), value("b", F, [2])])
# an output whose shape depends on the values
save("nonzero", [node("NonZero", ["x"], ["y"], "nonzero")], [value("x", F, [4])], [value("y", TensorProto.INT64, [1, "n"])])
# integer token input
table = numpy_helper.from_array(random.standard_normal((10, 4)).astype(np.float32), "table")
save("embedding", [node("Gather", ["table", "tokens"], ["y"], "lookup")],
     [value("tokens", TensorProto.INT64, ["length"])], [value("y", F, ["length", 4])], [table])
# half: a product that passes 65504 when computed in half and then back under it
half = numpy_helper.from_array(np.full((8, 8), 100, np.float16), "w")
save("half_gemm", [node("MatMul", ["x", "w"], ["y"], "product")],
     [value("x", TensorProto.FLOAT16, [1, 8])], [value("y", TensorProto.FLOAT16, [1, 8])], [half])
# sequences, maps and optionals as outputs
graph = helper.make_graph([node("SplitToSequence", ["x"], ["parts"], "split", axis=0)], "sequence", [value("x", F, [2, 2])],
                          [helper.make_tensor_sequence_value_info("parts", F, None)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder + "/sequence.onnx")
graph = helper.make_graph([node("ZipMap", ["x"], ["table"], "zip", domain="ai.onnx.ml", classlabels_int64s=[0, 1])], "map",
                          [value("x", F, [1, 2])],
                          [helper.make_value_info("table", helper.make_sequence_type_proto(
                              helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(F, []))))])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)],
                            ir_version=8), folder + "/map.onnx")
graph = helper.make_graph([node("Optional", ["x"], ["maybe"], "wrap")], "optional", [value("x", F, [2])],
                          [helper.make_value_info("maybe", helper.make_optional_type_proto(helper.make_tensor_type_proto(F, [2])))])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder + "/optional.onnx")
# a type that nobody here has
save("float8", [node("Cast", ["x"], ["y"], "narrow", to=TensorProto.FLOAT8E4M3FN)], [value("x", F, [2])],
     [value("y", TensorProto.FLOAT8E4M3FN, [2])], opset=19, ir=9)
# fails in a run only: the reshape's target comes as an input
save("reshape_by_input", [node("Reshape", ["x", "target"], ["y"], "bad_reshape")],
     [value("x", F, [4]), value("target", TensorProto.INT64, [2])], [value("y", F, ["a", "b"])])
# large: a hundred layers, to be seen in profiles
nodes, last = [], "x"
for layer in range(100):
    nodes.append(node("Sin", [last], ["t%d" % layer], "layer_%d" % layer))
    last = "t%d" % layer
nodes.append(node("Identity", [last], ["y"], "last"))
save("deep", nodes, [value("x", F, [64])], [value("y", F, [64])])
# nodes without names
unnamed = helper.make_node("Relu", ["x"], ["y"])
save("unnamed_nodes", [unnamed], [value("x", F, [2])], [value("y", F, [2])])
# names made to hurt
save("hostile_names", [node("Relu", ["in\x1b[31m\nput"], ["out\"/../\\put"], "no\x07de")],
     [value("in\x1b[31m\nput", F, [2])], [value("out\"/../\\put", F, [2])])

# --- models that must be refused ---
save("unknown_op", [node("NoSuchOperator", ["x"], ["y"], "who")], [value("x", F, [2])], [value("y", F, [2])], check=False)
save("unknown_domain", [node("Relu", ["x"], ["y"], "who", domain="example.org")], [value("x", F, [2])], [value("y", F, [2])],
     check=False, extra_opsets=[("example.org", 1)])
save("future_opset", [node("Relu", ["x"], ["y"], "relu")], [value("x", F, [2])], [value("y", F, [2])], opset=99, check=False)
save("future_ir", [node("Relu", ["x"], ["y"], "relu")], [value("x", F, [2])], [value("y", F, [2])], ir=99, check=False)
save("cycle", [node("Add", ["x", "b"], ["a"], "one"), node("Relu", ["a"], ["b"], "two")], [value("x", F, [2])],
     [value("b", F, [2])], check=False)
save("dangling", [node("Add", ["x", "nowhere"], ["y"], "add")], [value("x", F, [2])], [value("y", F, [2])], check=False)
short = numpy_helper.from_array(np.ones((4,), np.float32), "w")
short.raw_data = short.raw_data[:7]
save("short_weights", [node("Add", ["x", "w"], ["y"], "add")], [value("x", F, [4])], [value("y", F, [4])], [short], check=False)
huge = numpy_helper.from_array(np.ones((1,), np.float32), "w")
del huge.dims[:]
huge.dims.extend([1 << 40, 1 << 20])
save("huge_weights", [node("Add", ["x", "w"], ["y"], "add")], [value("x", F, [4])], [value("y", F, None)], [huge], check=False)
negative = numpy_helper.from_array(np.ones((1,), np.float32), "w")
del negative.dims[:]
negative.dims.extend([-4])
save("negative_weights", [node("Add", ["x", "w"], ["y"], "add")], [value("x", F, [4])], [value("y", F, None)], [negative],
     check=False)
save("rank_mismatch", [node("MatMul", ["x", "w"], ["y"], "product")], [value("x", F, [2, 3])], [value("y", F, [2, 2])],
     [numpy_helper.from_array(np.ones((5, 2), np.float32), "w")], check=False)


def external(name, location):
    weight = numpy_helper.from_array(np.ones((4,), np.float32), "w")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, text in (("location", location), ("offset", "0"), ("length", "16")):
        entry = weight.external_data.add()
        entry.key, entry.value = key, text
    save(name, [node("Add", ["x", "w"], ["y"], "add")], [value("x", F, [4])], [value("y", F, [4])], [weight], check=False)


with open(os.path.join(folder, "outside.bin"), "wb") as file:
    file.write(np.full(4, 7, np.float32).tobytes())
os.makedirs(os.path.join(folder, "inner"), exist_ok=True)
saved = folder
external("external_good", "outside.bin")
folder = os.path.join(saved, "inner")
external("external_parent", "../outside.bin")
external("external_absolute", os.path.join(os.path.abspath(saved), "outside.bin"))
external("external_missing", "not_there.bin")
folder = saved
with open(os.path.join(folder, "conv.onnx"), "rb") as file:
    content = file.read()
for name, data in [("empty", b""), ("truncated", content[:-30]), ("garbage", bytes(random.integers(0, 256, 4096, np.uint8))),
                   ("text", b"this is no model\n" * 20), ("zeros", bytes(4096)), ("one_byte", b"\x08")]:
    with open(os.path.join(folder, name + ".onnx"), "wb") as file:
        file.write(data)
with open(os.path.join(folder, "garbage.blob"), "wb") as file:
    file.write(bytes(random.integers(0, 256, 4096, np.uint8)))
