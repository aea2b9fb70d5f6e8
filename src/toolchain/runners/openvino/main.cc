#include "toolchain/runner.h"
#include "toolchain/runners/openvino/runtime.h"

int main(int argc, char** argv) {
    requal::toolchain::openvino::OpenVino runtime;
    return requal::toolchain::serve(runtime, argc, argv);
}
