#include <gtest/gtest.h>

#include "base/file.h"
#include "machine/host.h"

namespace requal::machine {
namespace {

class Root : public testing::Test {
protected:
    void put(const std::string& path, const std::string& text) {
        const std::string full = folder_.path() + path;
        make_folders(full.substr(0, full.rfind('/')));
        write_file_atomically(full, text);
    }
    TemporaryFolder folder_;
};

TEST_F(Root, WhatABoardShows) {
    put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu avx2 fma "
                         "hypervisor\n\nprocessor\t: 1\nmodel name\t: Other\n");
    put("/proc/meminfo", "MemTotal:       2048 kB\nMemFree:  1 kB\nMemAvailable:   1024 kB\n");
    put("/proc/loadavg", "0.25 0.5 0.75 1/100 1234\n");
    put("/etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"Board OS 1\"\n");
    for (const char* cpu : {"cpu0", "cpu1"}) {
        put(std::string("/sys/devices/system/cpu/") + cpu + "/cpufreq/scaling_governor",
            "performance\n");
        put(std::string("/sys/devices/system/cpu/") + cpu + "/cpufreq/scaling_cur_freq",
            cpu == std::string("cpu0") ? "1500000\n" : "2000000\n");
    }
    put("/sys/devices/system/cpu/cpufreq/boost", "1\n");
    put("/sys/class/thermal/thermal_zone0/temp", "41000\n");
    put("/sys/class/thermal/thermal_zone1/temp", "52500\n");

    const Json host = host_facts(folder_.path());
    EXPECT_EQ(host.at("os").as_string(), "Board OS 1");
    EXPECT_EQ(host.at("cpu").at("model").as_string(), "Fast CPU");
    EXPECT_EQ(host.at("cpu").at("cores").as_integer(), 2);
    EXPECT_EQ(host.at("cpu").at("isa"), Json::array({"avx2", "fma"}));
    EXPECT_EQ(host.at("memory_bytes").as_integer(), 2048 * 1024);

    std::vector<std::string> unknown;
    const Json conditions = measurement_conditions(unknown, folder_.path());
    EXPECT_EQ(unknown, std::vector<std::string>{});
    EXPECT_DOUBLE_EQ(conditions.at("load_average_1min").as_number(), 0.25);
    EXPECT_EQ(conditions.at("cpu_governor").as_string(), "performance");
    EXPECT_DOUBLE_EQ(conditions.at("cpu_frequency_min_mhz").as_number(), 1500);
    EXPECT_DOUBLE_EQ(conditions.at("cpu_frequency_max_mhz").as_number(), 2000);
    EXPECT_TRUE(conditions.at("turbo").as_boolean());
    EXPECT_TRUE(conditions.at("virtualised").as_boolean());
    EXPECT_DOUBLE_EQ(conditions.at("temperature_max_c").as_number(), 52.5);
    EXPECT_EQ(memory_available_bytes(folder_.path()), 1024U * 1024U);
}

TEST_F(Root, TheControlGroupMayLeaveLess) {
    put("/proc/meminfo", "MemAvailable:   1024 kB\n");
    put("/sys/fs/cgroup/memory.max", "600000\n");
    put("/sys/fs/cgroup/memory.current", "100000\n");
    EXPECT_EQ(memory_available_bytes(folder_.path()), 500000U);
    put("/sys/fs/cgroup/memory.current", "700000\n");
    EXPECT_EQ(memory_available_bytes(folder_.path()), 0U);
    put("/sys/fs/cgroup/memory.max", "max\n");
    EXPECT_EQ(memory_available_bytes(folder_.path()), 1024U * 1024U);
}

TEST_F(Root, WhatIsNotThereIsNamedAndNotGuessed) {
    std::vector<std::string> unknown;
    const Json conditions = measurement_conditions(unknown, folder_.path());
    EXPECT_EQ(conditions.size(), 0U);
    EXPECT_EQ(unknown.size(), 6U);
    EXPECT_EQ(host_facts(folder_.path()).get("memory_bytes"), Json());
}

TEST_F(Root, MixedGovernorsAndNonsense) {
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "fast\n");
    put("/proc/loadavg", "\xff\xfe\n");
    put("/proc/cpuinfo", std::string(100, '\n') + "model name\t: \x1b[2Jevil\n");
    put("/sys/class/thermal/thermal_zone0/temp", "-40000\n");
    std::vector<std::string> unknown;
    const Json conditions = measurement_conditions(unknown, folder_.path());
    EXPECT_EQ(conditions.at("cpu_governor").as_string(), "mixed");
    EXPECT_FALSE(conditions.has("load_average_1min"));
    EXPECT_FALSE(conditions.has("temperature_max_c"));
    EXPECT_EQ(host_facts(folder_.path()).at("cpu").at("model").as_string().find('\x1b'),
              std::string::npos);
}

}  // namespace
}  // namespace requal::machine
