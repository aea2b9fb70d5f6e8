// The ONNX Runtime library, opened when it is first needed and not linked.
//
// A linked runner would be bound to one release (its one exported symbol carries the release's version), and without the
// library it could not even say what is missing.
#pragma once

struct OrtApiBase;

namespace requal::toolchain::ort {

/// The library's entry. Opened once: the file that $REQUAL_ONNXRUNTIME names, else libonnxruntime.so.1 on the loader's path.
/// Error(missing) says which was looked for and why it cannot be used.
const OrtApiBase& library_entry();

}  // namespace requal::toolchain::ort
