#include "toolchain/runner.h"
#include "toolchain/runners/onnxruntime/runtime.h"

int main(int argc, char** argv) {
    requal::toolchain::ort::OnnxRuntime runtime;
    return requal::toolchain::serve(runtime, argc, argv);
}
