#!/usr/bin/env python3
"""Writes tests/artifact/data (small real artefacts) and the first fuzz corpus. Needs the packages onnx, numpy and openvino.

The OpenVINO blob depends on the machine's instruction set: the committed one names what it was made on.
"""

import pathlib
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
CORPUS = HERE / "fuzz" / "corpus-recognise"


def tiny_model(external=False, context=False):
    weight = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "w")
    if external:
        weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 3], data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value="weights.bin")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], name="mm"), helper.make_node("Relu", ["m"], ["y"])]
    if context:
        nodes = [helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", embed_mode=0, ep_cache_context="a.bin")]
    graph = helper.make_graph(
        nodes, "tiny", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])], [] if context else [weight])
    opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid("com.microsoft", 1)] if context else [])
    return helper.make_model(graph, producer_name="requal-tests", producer_version="1", opset_imports=opsets, ir_version=8)


def main():
    DATA.mkdir(exist_ok=True)
    CORPUS.mkdir(parents=True, exist_ok=True)
    tiny = tiny_model().SerializeToString(deterministic=True)
    files = {
        "tiny.onnx": tiny,
        "external.onnx": tiny_model(external=True).SerializeToString(deterministic=True),
        "context.onnx": tiny_model(context=True).SerializeToString(deterministic=True),
    }
    for name, content in files.items():
        (DATA / name).write_bytes(content)
    arrays = {"a": np.zeros((2, 3), np.float32), "b": np.arange(4)}
    np.savez(DATA / "two.npz", **arrays)
    np.savez_compressed(DATA / "packed.npz", **arrays)
    try:
        import openvino

        blob = openvino.Core().compile_model(str(DATA / "tiny.onnx"), "CPU").export_model()
        (DATA / "tiny.blob").write_bytes(blob.getvalue() if hasattr(blob, "getvalue") else bytes(blob))
    except ImportError:
        print("openvino is not installed: tiny.blob stays as it is")

    for file in DATA.iterdir():
        (CORPUS / file.name).write_bytes(file.read_bytes())
    rtx = b"vtrt" + bytes(20) + bytes([1, 7, 1, 0x74])
    more = {
        "empty": b"", "one-byte": b"\x08", "plan-rtx": rtx + bytes(64), "plan-trt": b"ftrt" + rtx[4:24] + bytes([10, 3, 0, 26, 1]),
        "plan-cut": rtx[:20], "plan-layout": b"ftrt\1" + bytes(30), "onnx-cut": tiny[:100], "onnx-no-graph": tiny[:20],
        "zip-empty": b"PK\5\6" + bytes(18), "zip-cut": (DATA / "two.npz").read_bytes()[:300],
        "zip-many": b"PK\3\4" + bytes(26) + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, 46, 0xFFFFFFFF, 0),
        "blob-cut": b"RR_UPCVO\1\0\0", "blob-huge-text": b"RR_UPCVO\1\0\0\0" + b"\xff" * 8 + b"ov=1",
        "deep": bytes([8, 8]) + b"\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    }
    for name, content in more.items():
        (CORPUS / name).write_bytes(content)


if __name__ == "__main__":
    main()
