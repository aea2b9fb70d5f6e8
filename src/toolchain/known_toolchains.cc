#include "toolchain/proof.h"

namespace requal::toolchain {

const std::vector<KnownToolchain>& known_toolchains() {
    static const std::vector<KnownToolchain> known = {
        {"onnxruntime:cpu", "scripts/setup build fetches ONNX Runtime; or set ONNXRUNTIME_ROOT to "
                            "a release archive's folder and "
                            "build requal-runner-onnxruntime"},
        {"onnxruntime:cuda", "put ONNX Runtime's GPU package (PyPI onnxruntime-gpu), CUDA and "
                             "cuDNN on the loader's path of "
                             "requal-runner-onnxruntime; needs an NVIDIA GPU and its driver"},
        {"onnxruntime:nv-tensorrt-rtx",
         "needs ONNX Runtime with the provider NvTensorRTRTX, TensorRT-RTX and an RTX-class GPU"},
        {"onnxruntime:openvino",
         "needs ONNX Runtime with the OpenVINO provider (PyPI onnxruntime-openvino)"},
        {"onnxruntime:qnn", "needs ONNX Runtime with the QNN provider (PyPI onnxruntime-qnn; on "
                            "x86_64 it emulates the HTP)"},
        {"onnxruntime:tensorrt",
         "needs ONNX Runtime's GPU package, CUDA and TensorRT on the loader's path"},
        {"openvino:cpu", "scripts/setup build fetches OpenVINO; build requal-runner-openvino"},
        {"openvino:gpu",
         "needs requal-runner-openvino, an Intel GPU and its OpenCL driver (intel-opencl-icd)"},
        {"tensorrt", "needs TensorRT (JetPack, or NVIDIA's apt or tar packages) and "
                     "requal-runner-tensorrt built against it"},
        {"tensorrt-rtx",
         "needs TensorRT-RTX (PyPI tensorrt-rtx) and requal-runner-tensorrt-rtx built against it"},
    };
    return known;
}

}  // namespace requal::toolchain
