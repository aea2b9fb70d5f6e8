"""Writes the committed seeds of tests/graph/fuzz/corpus-onnx. Run by hand when they should change."""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz", "corpus-onnx")


def save(name, model):
    with open(os.path.join(out, name + ".onnx"), "wb") as file:
        file.write(model if isinstance(model, bytes) else model.SerializeToString())


def main():
    os.makedirs(out, exist_ok=True)
    save("conv", parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[N,3,8,8] x) => (float[N,4,6,6] y) <float[4,3,1,1] w = {1,2,3,4,5,6,7,8,9,10,11,12}>
        { h = Conv <kernel_shape=[1,1]> (x, w)  y = MaxPool <kernel_shape=[3,3]> (h) }"""))
    save("functions", parser.parse_model("""<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[N,4] x) => (float[N,N] y) { y = local.square <perm=[1,0]> (x) }
        <domain: "local", opset_import: ["" : 17]>
        square <perm> (a) => (b) { t = Transpose <perm: ints = @perm> (a)  b = MatMul (a, t) }"""))
    save("branches", parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[N,4] x, bool c) => (float[N,4] y) {
        y = If (c) < then_branch = t () => (float[N,4] a) { a = Relu (x) },
                     else_branch = e () => (float[N,4] b) { b = Neg (x) } > }"""))
    save("shapes", parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[N,4] x) => (float[M,2] y) <int64[1] two = {2}, int64[1] rest = {-1}>
        { s = Shape (x)  t = Concat <axis=0> (rest, two)  y = Reshape (x, t) }"""))
    save("cycle", parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[4] x) => (float[4] y) { y = Add (x, z)  z = Relu (y) }"""))
    external = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[4] x) => (float[4] y) { y = Add (x, w) }""")
    tensor = external.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[4])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "../w.bin"), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    save("external", external)
    packed = helper.make_tensor_value_info("y", TensorProto.INT8, [3])
    constant = helper.make_node("Constant", [], ["y"], value=numpy_helper.from_array(np.arange(3, dtype=np.int8), "c"))
    model = helper.make_model(helper.make_graph([constant], "g", [], [packed]), ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    save("constant", model)
    save("truncated", model.SerializeToString()[:-5])


if __name__ == "__main__":
    main()
