// What is stated of an engine's build and of a target, as plain words under names; and what follows from known tables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compat/truth.h"

namespace requal::compat {

/// Name -> words. A name that is absent was not stated; an empty list was stated to be empty (`flags: []`).
/// Names: see fact_names(). Values are kept as written, except that architectures are spelt x86_64 and aarch64 and that
/// system names are lower case.
using Facts = std::map<std::string, std::vector<std::string>, std::less<>>;

/// product version gpu cc os os_release arch platform jetson jetpack l4t cuda driver flags isa cpu soc abi allows
const std::vector<std::string_view>& fact_names();

/// The one word of a fact; nullopt when it is absent or has not exactly one.
std::optional<std::string> word_of(const Facts& facts, std::string_view name);

/// "amd64", "x64" -> "x86_64"; "arm64" -> "aarch64"; others as they are.
std::string architecture_name(std::string_view name);

/// A GPU name as the table of known GPUs has it: lower case, without "NVIDIA", "GeForce", "Tesla" and "Graphics Device" marks, one
/// blank between words.
std::string gpu_key(std::string_view name);

/// Do two names mean the same GPU model? yes: equal keys; no: both in the table with different keys and neither begins with the other;
/// else unknown. An unknown name is never guessed to be something known.
struct SameGpu {
    Truth same = Truth::unknown;
    bool looser =
        false;  ///< unknown because one name is the other with further words ("H100", "H100 PCIe")
};

/// A GPU of rules/stacks.yaml.
struct KnownGpu {
    std::string key;
    std::string cc;
    bool jetson = false;
    bool has_variants = false;  ///< the name alone names several products
    std::string source;
};

/// A row of the JetPack table of rules/stacks.yaml.
struct Stack {
    std::string jetpack;
    std::vector<std::string> l4t;
    std::string kernel, ubuntu, cuda, cudnn, tensorrt, modules, state, note;
};

/// A row of a small table of rules/stacks.yaml, as it stands there.
using TableRow = std::map<std::string, std::string, std::less<>>;

/// Known GPUs and stacks.
struct Tables {
    std::vector<KnownGpu> gpus;
    std::vector<Stack> stacks;
    std::vector<TableRow> onnxruntime_tensorrt, cuda_driver, end_of_life;

    /// The longest entry whose words begin `name`; nullptr: not known.
    const KnownGpu* gpu(std::string_view name) const;
    /// The row of an L4T release ("r36.4.3", "36.4.3", "R36.4.3"); nullptr: not known.
    const Stack* stack_of_l4t(std::string_view l4t) const;
    std::vector<const Stack*> stacks_of_jetpack(std::string_view jetpack) const;
};

SameGpu same_gpu(std::string_view left, std::string_view right, const Tables& tables);

/// Adds what follows from other facts: platform from os and arch, cc and jetson from a known GPU, jetson from jetpack or l4t, version,
/// cuda and jetpack from a known L4T release, cuda from a package version. Stated facts are never changed. Returns a line for each
/// addition: "cc 9.0: H100 in rules/stacks.yaml".
std::vector<std::string> derive(Facts& facts, const Tables& tables);

}  // namespace requal::compat
