// GPUs as a fake NVML tells them, and what is said where there is none.
#include <cstdlib>

#include <gtest/gtest.h>

#include "machine/gpus.h"

namespace requal::machine {
namespace {

class Probe : public ::testing::Test {
protected:
    ~Probe() override { ::unsetenv("FAKE_NVML"); }

    static Gpus when(const char* state) {
        ::setenv("FAKE_NVML", state, 1);
        return probe_gpus(REQUAL_FAKE_NVML);
    }
};

TEST_F(Probe, each_gpu_with_its_name_and_compute_capability) {
    const Gpus found = when("");
    EXPECT_EQ(found.why_not, "");
    EXPECT_EQ(found.driver, "570.86.15");
    const Gpu a100{"NVIDIA A100-SXM4-80GB", "8.0"};
    EXPECT_EQ(found.list, (std::vector<Gpu>{a100, a100}));
    EXPECT_EQ(when("other").list, (std::vector<Gpu>{a100, {"NVIDIA L40S", "8.9"}}));
}

TEST_F(Probe, how_each_gpu_is_set_up) {
    const Gpus found = when("");
    ASSERT_EQ(found.setup.size(), 2U);
    EXPECT_EQ(found.setup[0].video_bios, "92.00.A0.00.04");
    EXPECT_EQ(found.setup[0].ecc, true);
    EXPECT_EQ(found.setup[0].mig, false);
    EXPECT_EQ(found.setup[0].power_limit_mw, 400000U);
    EXPECT_EQ(found.setup[0].graphics_clock_max_mhz, 1410U);
    EXPECT_EQ(found.setup[0].memory_clock_max_mhz, 1593U);
    // a function that the driver lacks, a mode that the GPU lacks, and one that may not be read
    EXPECT_EQ(found.setup[0].persistence, std::nullopt);
    EXPECT_EQ(found.setup[0].unknown,
              std::vector<std::string>{"persistence: this driver has no function for it"});
    EXPECT_EQ(when("other").setup[0].mig, std::nullopt);
    EXPECT_EQ(when("other").setup[0].unknown.size(), 1U);
    const Gpus forbidden = when("no-permission");
    EXPECT_EQ(forbidden.setup[0].ecc, std::nullopt);
    EXPECT_EQ(forbidden.setup[0].unknown.front(), "ecc: NVML code 4");
}

TEST_F(Probe, no_gpu_is_known_to_be_none) {
    const Gpus found = when("none");
    EXPECT_EQ(found.why_not, "");
    EXPECT_TRUE(found.list.empty());
}

TEST_F(Probe, what_is_not_told_has_its_reason_and_half_a_list_is_no_list) {
    EXPECT_EQ(when("no-driver").why_not, "NVIDIA's driver does not answer (NVML code 9)");
    const Gpus lost = when("lost");
    EXPECT_EQ(lost.why_not, "GPU 1 cannot be asked (NVML code 15)");
    EXPECT_TRUE(lost.list.empty());
    EXPECT_NE(when("flood").why_not.find("counts 4000000000 GPUs"), std::string::npos);
}

TEST_F(Probe, a_missing_library_and_one_that_is_something_else) {
    EXPECT_EQ(probe_gpus("libno-such-driver.so.1").why_not,
              "NVIDIA's driver library is not here (libno-such-driver.so.1)");
    EXPECT_NE(probe_gpus("libm.so.6").why_not.find("a function is missing"), std::string::npos);
}

}  // namespace
}  // namespace requal::machine
