#!/usr/bin/env python3
"""Writes tests/artifact/data and the first fuzz corpus. Needs the package onnx; what other packages make is left alone without them.

tests/artifact/README.md says which files real programs wrote and which are synthetic. OpenVINO's blobs name the instruction set of
the machine they were made on.
"""

import json
import pathlib
import shutil
import struct
import tempfile
import zipfile

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


def flat_table(fields):
    """One FlatBuffer table: {field: bytes of 1, 2, 4 or 8, or a pre-built object to point to}. Written backwards is the usual way;
    this writes forward: vtable, table, then the objects, which is as valid."""
    count = max(fields, default=-1) + 1
    vtable_size = 4 + 2 * count
    vtable_size += vtable_size % 4  # keeps the table aligned
    inline, offsets, at = b"", [0] * count, 4
    pending = []
    for field, value in sorted(fields.items()):
        if isinstance(value, Flat):
            pending.append((at, value))
            value = bytes(4)
        while (at % len(value)) != 0:
            inline += b"\0"
            at += 1
        if pending and pending[-1][0] != at and value == bytes(4) and isinstance(fields[field], Flat):
            pending[-1] = (at, fields[field])
        offsets[field] = at
        inline += value
        at += len(value)
    table = struct.pack("<i", vtable_size) + inline
    table += bytes(-len(table) % 4)
    vtable = struct.pack("<HH", 4 + 2 * count, at) + b"".join(struct.pack("<H", o) for o in offsets)
    body = vtable + bytes(vtable_size - len(vtable)) + table
    return Flat(body, vtable_size, [(vtable_size + where, value) for where, value in pending])


class Flat:
    """Bytes of which `start` is pointed to, with places (offset, Flat) to fill in."""

    def __init__(self, body, start=0, pending=()):
        self.body, self.start, self.pending = body, start, list(pending)

    def layout(self):
        out = bytearray(self.body + bytes(-len(self.body) % 4))
        for where, child in self.pending:
            child_bytes, child_start = child.layout()
            struct.pack_into("<I", out, where, len(out) + child_start - where)
            out += child_bytes
        return out, self.start


def flat_text(text):
    return Flat(struct.pack("<I", len(text)) + text.encode() + b"\0")


def flat_numbers(form, values):
    return Flat(struct.pack("<I", len(values)) + b"".join(struct.pack(form, v) for v in values))


def flat_vector(items):
    return Flat(struct.pack("<I", len(items)) + bytes(4 * len(items)), 0, [(4 + 4 * i, item) for i, item in enumerate(items)])


def flat_file(root, identifier):
    body, start = root.layout()
    return struct.pack("<I", 8 + start) + identifier + bytes(body)


def tflite_model():
    u32 = lambda value: struct.pack("<I", value)

    def tensor(name, kind, shape, signature=None):
        fields = {0: flat_numbers("<i", shape), 1: bytes([kind]), 2: u32(0), 3: flat_text(name)}
        if signature:
            fields[7] = flat_numbers("<i", signature)
        return flat_table(fields)

    graph = flat_table({
        0: flat_vector([tensor("image", 9, [1, 8, 8, 3], [-1, 8, 8, 3]), tensor("w", 9, [4, 1, 1, 3]), tensor("out", 9, [1, 8, 8, 4])]),
        1: flat_numbers("<i", [0]), 2: flat_numbers("<i", [2]),
        3: flat_vector([flat_table({0: u32(0)}), flat_table({0: u32(1)})]), 4: flat_text("main")})
    codes = flat_vector([flat_table({0: bytes([3]), 3: u32(3)}), flat_table({0: bytes([32]), 1: flat_text("edgetpu-custom-op"), 3: u32(32)})])
    buffers = flat_vector([flat_table({}), flat_table({0: flat_numbers("<B", b"1.14.0\0\0")})])
    metadata = flat_vector([flat_table({0: flat_text("min_runtime_version"), 1: u32(1)})])
    return flat_file(flat_table({0: u32(3), 1: codes, 2: flat_vector([graph]), 3: flat_text("synthetic"), 4: buffers, 6: metadata}), b"TFL3")


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def hef(version, architecture=3, more=b"configuration"):
    header = (field(1, architecture) if architecture else b"") + field(2, 1767225600) + field(3, b"3.27.0") + field(4, 1)
    description = field(1, header) + field(2, field(10, b"detector")) + field(5, field(1, 12) + field(2, b"KO_RUN_ASAP"))
    tail = {
        0: bytes(4) + bytes(range(16)), 1: struct.pack(">IQI", 0x11223344, len(more), 0),
        2: struct.pack(">QQQQ", 0x1122334455667788, len(more), 0, 0),
        3: struct.pack(">QQIQQQ", 0x1122334455667788, len(more), 0, 0, 0, 0),
    }[version]
    return b"\x01HEF" + struct.pack(">II", version, len(description)) + tail + description + (more if version else b"")


def zip_of(members):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        return path.read_bytes()


def synthetic():
    """Artefacts by their documented layout, where no program that writes them can be run."""
    plan = b"ftrt" + bytes(20) + bytes([10, 3, 0, 26]) + bytes(range(64))
    metadata = json.dumps({"description": "a model", "stride": 32, "names": {"0": "part"}, "imgsz": [640, 640]}).encode()
    return {
        "tiny.tflite": tflite_model(),
        **{f"v{version}.hef": hef(version) for version in range(4)},
        "hailo8.hef": hef(1, architecture=0),
        "ultralytics.engine": struct.pack("<i", len(metadata)) + metadata + plan,
        "calibration.cache": b"TRT-8510-EntropyCalibration2\nimages: 3c010a14\nblock/conv:0: 3d1b2f40\nout: 3f000000\n",
        "script.pt": zip_of({"script/data.pkl": b"\x80\x02.", "script/code/__torch__.py": b"def forward(self): pass\n",
                             "script/constants.pkl": b"\x80\x02.", "script/extra/config.txt": b"{}", "script/version": b"3\n"}),
        "checkpoint.pt": zip_of({"best/data.pkl": b"\x80\x02cos\nsystem\n.", "best/byteorder": b"little", "best/data/0": bytes(64),
                                 "best/data/1": bytes(16), "best/version": b"3\n"}),
        "old-checkpoint.pt": bytes.fromhex("80028a0a6cfc9c46f9206aa850192e80024de9032e") + b"\x80\x02}.",
        "export.pt2": zip_of({"m/archive_format": b"pt2", "m/models/model.json": b"{}", "m/version": b"0"}),
        "npu.blob": b"\x7fELF" + bytes(40) + struct.pack("<IHHH", 2 << 16 | 1, 2025, 4, 1) + bytes(8) + struct.pack("<Q", 44) + b"OVNPU",
        "embedded-context.onnx": embedded_context(plan),
    }


def embedded_context(engine):
    node = helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", embed_mode=1, main_context=1, ep_cache_context=engine,
                            source="TensorrtExecutionProvider", hardware_architecture="86")
    graph = helper.make_graph([node], "wrapped", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    return model.SerializeToString(deterministic=True)


def from_openvino():
    import openvino

    core = openvino.Core()
    blob = core.compile_model(str(DATA / "tiny.onnx"), "CPU").export_model()
    (DATA / "tiny.blob").write_bytes(blob.getvalue() if hasattr(blob, "getvalue") else bytes(blob))
    openvino.save_model(core.read_model(str(DATA / "tiny.onnx")), str(DATA / "ir.xml"), compress_to_fp16=False)
    with tempfile.TemporaryDirectory() as folder:
        core.set_property({"CACHE_DIR": folder})
        core.compile_model(str(DATA / "tiny.onnx"), "CPU")
        for file in pathlib.Path(folder).iterdir():
            shutil.copyfile(file, DATA / "cached.blob")


def from_onnxruntime():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(DATA / "tiny.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    onnxruntime.InferenceSession(str(DATA / "tiny.onnx"), options, providers=["CPUExecutionProvider"])


def from_safetensors():
    import safetensors.numpy

    safetensors.numpy.save_file({"a.weight": np.zeros((2, 3), np.float32), "b": np.arange(4, dtype=np.float16)},
                                DATA / "two.safetensors", metadata={"format": "np"})
    (DATA / "two.safetensors").chmod(0o644)


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
    for name, content in synthetic().items():
        (DATA / name).write_bytes(content)
    for make in from_openvino, from_onnxruntime, from_safetensors:
        try:
            make()
        except ImportError as missing:
            print(f"{missing}: its files stay as they are")

    for file in DATA.iterdir():
        (CORPUS / file.name).write_bytes(file.read_bytes())
    rtx = b"vtrt" + bytes(20) + bytes([1, 7, 1, 0x74])
    more = {
        "empty": b"", "one-byte": b"\x08", "plan-rtx": rtx + bytes(64), "plan-trt": b"ftrt" + rtx[4:24] + bytes([10, 3, 0, 26, 1]),
        "plan-cut": rtx[:20], "plan-layout": b"ftrt\1" + bytes(30), "onnx-cut": tiny[:100], "onnx-no-graph": tiny[:20],
        "zip-empty": b"PK\5\6" + bytes(18), "zip-cut": (DATA / "two.npz").read_bytes()[:300],
        "zip-many": b"PK\3\4" + bytes(26) + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, 46, 0xFFFFFFFF, 0),
        "blob-cut": b"RR_UPCVO\1\0\0", "blob-huge-text": b"RR_UPCVO\1\0\0\0" + b"\xff" * 8 + b"ov=1",
        "hef-version": b"\x01HEF" + struct.pack(">II", 4, 10) + bytes(20), "hef-cut": hef(3)[:80], "tflite-cut": tflite_model()[:200],
        "ort-cut": (DATA / "tiny.ort").read_bytes()[:200], "ir-cut": (DATA / "ir.xml").read_bytes()[:700],
        "safetensors-cut": (DATA / "two.safetensors").read_bytes()[:100], "qnn-cut": (DATA / "qnn.bin").read_bytes()[:600],
        "old-archive": b"ptrt" + bytes(40), "calibration-bad": b"TRT-8510-MinMaxCalibration\nimages: nothing\n",
        "deep": bytes([8, 8]) + b"\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    }
    for name, content in more.items():
        (CORPUS / name).write_bytes(content)


if __name__ == "__main__":
    main()
