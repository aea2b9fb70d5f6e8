#include "toolchain/runners/scripted/session.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "base/error.h"
#include "toolchain/runners/scripted/faults.h"

namespace requal::scripted {

namespace {

using toolchain::Port;

const std::vector<std::string> option_names{"precision", "threads", "all_outputs", "clean"};

double minutes_since(const timespec& start) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (static_cast<double>(now.tv_sec - start.tv_sec) +
            static_cast<double>(now.tv_nsec - start.tv_nsec) / 1e9) /
           60.0;
}

class ScriptedSession : public toolchain::Session {
public:
    ScriptedSession(Script script, Settings settings)
        : script_(std::move(script)), settings_(std::move(settings)) {
        clock_gettime(CLOCK_MONOTONIC, &loaded_);
        if (settings_.all_outputs) {
            for (const Layer& layer : script_.layers) {
                const bool is_output =
                    std::any_of(script_.outputs.begin(), script_.outputs.end(),
                                [&](const Output& output) { return output.name == layer.name; });
                if (!is_output) {
                    script_.outputs.push_back({layer.name, layer.name, ElementType::float32});
                }
            }
        }
    }

    std::vector<Port> inputs() const override { return script_.inputs; }

    /// Shapes found by running the shapes alone: dynamic ones stay dynamic.
    std::vector<Port> outputs() const override {
        std::map<std::string, Shape, std::less<>> shapes;
        for (const Port& port : script_.inputs) {
            shapes[port.name] = port.shape;
        }
        for (const Layer& layer : script_.layers) {
            Shape shape = shapes.at(layer.inputs.front());
            if (layer.op == "sum") {
                const auto rank = static_cast<std::int64_t>(shape.size());
                const std::int64_t axis = layer.axis < 0 ? layer.axis + rank : layer.axis;
                if (axis >= 0 && axis < rank) {
                    shape[static_cast<std::size_t>(axis)] = 1;
                }
            }
            shapes[layer.name] = std::move(shape);
        }
        std::vector<Port> ports;
        for (const Output& output : script_.outputs) {
            ports.push_back({output.name, output.type, shapes.at(output.from)});
        }
        return ports;
    }

    NamedTensors run(const NamedTensors& inputs) override {
        ++runs_;
        misbehave();
        NamedTensors outputs = computed(inputs);
        if (script_.find("aliased_outputs") != nullptr) {
            alias(outputs);
        }
        if (script_.find("stale_outputs") != nullptr) {
            NamedTensors fresh = outputs;
            if (!previous_.empty()) {
                outputs = previous_;
            }
            previous_ = std::move(fresh);
        }
        return outputs;
    }

    void prepare_timing(const NamedTensors& inputs) override { prepared_ = inputs; }
    void time_once() override { (void)run(prepared_); }
    Json facts() const override { return facts_of(settings_); }

    Json profile(const NamedTensors& inputs) override {
        (void)run(inputs);
        Json nodes = Json::array();
        for (const Layer& layer : script_.layers) {
            std::string provider = "scripted";
            for (const Wrong& wrong : script_.wrongness) {
                if (wrong.kind == "fallback" && wrong.text("node", "") == layer.name) {
                    provider = wrong.text("provider", "scripted-fallback");
                }
            }
            nodes.push_back(Json::object({{"name", layer.name},
                                          {"op", layer.op},
                                          {"provider", provider},
                                          {"time_ms", 0.0}}));
        }
        return Json::object({{"nodes", std::move(nodes)}});
    }

private:
    void misbehave() {
        sleep_ms(script_.latency_ms);
        for (const Wrong& wrong : script_.wrongness) {
            const bool at_this_run = wrong.integer("at_run", -1) == runs_;
            if (wrong.kind == "crash" && at_this_run) {
                crash();
            } else if (wrong.kind == "hang" && at_this_run) {
                hang();
            } else if (wrong.kind == "flood" && at_this_run) {
                flood(wrong.text("what", "frame"));
            } else if (wrong.kind == "pause" && at_this_run) {
                sleep_ms(wrong.number("ms", 100));
            } else if (wrong.kind == "second_mode" && runs_ % wrong.integer("every", 10) == 0) {
                sleep_ms(wrong.number("extra_ms", 1));
            } else if (wrong.kind == "slow") {
                const bool by_run = wrong.members.has("from_run");
                if (by_run ? runs_ >= wrong.integer("from_run", 0)
                           : minutes_since(loaded_) >= wrong.number("from_minute", 0)) {
                    sleep_ms(wrong.number("extra_ms", 1));
                }
            } else if (wrong.kind == "memory_growth") {
                const std::int64_t bytes = wrong.integer("bytes_per_run", 1 << 20);
                leaked_.emplace_back(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)),
                                     'm');
            }
        }
    }

    NamedTensors computed(const NamedTensors& inputs) {
        std::map<std::string, Value, std::less<>> values;
        for (const auto& [name, tensor] : inputs) {
            values[name] = value_of(tensor);
        }
        std::size_t index = 0;
        for (const Layer& layer : script_.layers) {
            std::vector<const Value*> operands;
            for (const std::string& input : layer.inputs) {
                operands.push_back(&values.at(input));
            }
            Value value = compute(layer, operands);
            round_to(settings_.executed, value);
            drift(layer, index++, value);
            values[layer.name] = std::move(value);
        }
        NamedTensors outputs;
        for (const Output& output : script_.outputs) {
            Value value = values.at(output.from);
            spoil(output, value);
            Tensor tensor(ElementType::float32, value.shape);
            std::copy(value.data.begin(), value.data.end(), tensor.mutable_values<float>().begin());
            outputs.emplace_back(output.name, output.type == ElementType::float32
                                                  ? std::move(tensor)
                                                  : tensor.converted(output.type));
        }
        return outputs;
    }

    /// Each layer from the named one on is off by a relative error with a fixed sign for each element.
    void drift(const Layer& layer, std::size_t index, Value& value) {
        for (const Wrong& wrong : script_.wrongness) {
            if (wrong.kind != "drift") {
                continue;
            }
            const Json& from = wrong.members.get("layer");
            std::size_t first = 0;
            if (from.is_string()) {
                const auto found =
                    std::find_if(script_.layers.begin(), script_.layers.end(),
                                 [&](const Layer& one) { return one.name == from.as_string(); });
                if (found == script_.layers.end()) {
                    throw Error(ErrorKind::input,
                                "drift names no layer of the model: " + from.as_string() + " (at " +
                                    layer.name + ")");
                }
                first = static_cast<std::size_t>(found - script_.layers.begin());
            } else if (from.is_integer()) {
                first = static_cast<std::size_t>(std::max<std::int64_t>(from.as_integer(), 0));
            }
            if (index >= first) {
                const auto relative = static_cast<float>(wrong.number("relative", 1e-3));
                for (std::size_t i = 0; i < value.data.size(); ++i) {
                    value.data[i] *= 1.0F + relative * sign_of(i);
                }
            }
        }
    }

    void spoil(const Output& output, Value& value) {
        for (const Wrong& wrong : script_.wrongness) {
            if (wrong.members.has("output") && wrong.text("output", "") != output.name) {
                continue;
            }
            if (wrong.kind == "not_finite" && runs_ >= wrong.integer("from_run", 1)) {
                const auto element = static_cast<std::size_t>(wrong.integer("element", 0));
                if (element < value.data.size()) {
                    const std::string what = wrong.text("value", "nan");
                    const float infinity = std::numeric_limits<float>::infinity();
                    value.data[element] = what == "inf" ? infinity
                                          : what == "-inf"
                                              ? -infinity
                                              : std::numeric_limits<float>::quiet_NaN();
                }
            } else if (wrong.kind == "batch_position" && !value.shape.empty() &&
                       value.shape[0] > 0) {
                const std::size_t row =
                    value.data.size() / static_cast<std::size_t>(value.shape[0]);
                const auto position = static_cast<std::size_t>(wrong.integer("position", 1));
                const auto relative = static_cast<float>(wrong.number("relative", 1e-2));
                for (std::size_t i = position * row;
                     i < value.data.size() && i < (position + 1) * row; ++i) {
                    value.data[i] *= 1.0F + relative;
                }
            } else if (wrong.kind == "nondeterministic") {
                const auto relative = static_cast<float>(wrong.number("relative", 1e-3));
                std::uniform_real_distribution<float> noise(-relative, relative);
                for (float& element : value.data) {
                    element *= 1.0F + noise(random_);
                }
            }
        }
    }

    /// All outputs of the same size lie in one buffer, which also the next run overwrites: the last output wins.
    void alias(NamedTensors& outputs) {
        for (const auto& [name, tensor] : outputs) {
            auto& buffer = buffers_[tensor.bytes().size()];
            if (!buffer) {
                buffer = std::make_shared<std::vector<std::byte>>(tensor.bytes().size());
            }
            std::copy(tensor.bytes().begin(), tensor.bytes().end(), buffer->begin());
        }
        for (auto& [name, tensor] : outputs) {
            const auto& buffer = buffers_[tensor.bytes().size()];
            tensor = Tensor(tensor.type(), tensor.shape(), *buffer, buffer);
        }
    }

    Script script_;
    Settings settings_;
    timespec loaded_{};
    std::int64_t runs_ = 0;
    NamedTensors prepared_;
    NamedTensors previous_;
    std::vector<std::string> leaked_;
    std::map<std::size_t, std::shared_ptr<std::vector<std::byte>>> buffers_;
    std::mt19937 random_{std::random_device{}()};
};

}  // namespace

const std::vector<std::string>& known_options() {
    return option_names;
}

Settings settings_of(const Script& script, const Json& options) {
    toolchain::check_options(options, known_options());
    const auto option = [&](const char* key) -> const Json& {
        const Json& given = options.get(key);
        return given.is_null() && script.built_with.is_object() ? script.built_with.get(key)
                                                                : given;
    };
    Settings settings;
    if (const Json& precision = option("precision"); !precision.is_null()) {
        settings.requested = parse_precision(precision.as_string());
    }
    settings.executed = settings.requested;
    if (const Wrong* wrong = script.find("precision")) {
        settings.executed = parse_precision(wrong->text("executes", "f32"));
        settings.reported = wrong->text("reports", std::string(name_of(settings.executed)));
    } else {
        settings.reported = name_of(settings.executed);
    }
    if (const Json& threads = option("threads"); !threads.is_null()) {
        settings.threads = threads.as_integer();
        if (settings.threads < 1 || settings.threads > 1024) {
            throw Error(ErrorKind::input, "threads must lie between 1 and 1024", "option threads");
        }
    }
    if (const Json& all = option("all_outputs"); !all.is_null()) {
        settings.all_outputs = all.as_boolean();
    }
    return settings;
}

Json facts_of(const Settings& settings) {
    return Json::object(
        {{"precision", Json::object({{"requested", name_of(settings.requested)},
                                     {"executed", settings.reported},
                                     {"learned_by", "read back"}})},
         {"device", "scripted"},
         {"threads", settings.threads},
         {"options_effective", Json::object({{"precision", settings.reported},
                                             {"threads", settings.threads},
                                             {"all_outputs", settings.all_outputs}})}});
}

std::unique_ptr<toolchain::Session> make_session(Script script, Settings settings) {
    return std::make_unique<ScriptedSession>(std::move(script), std::move(settings));
}

}  // namespace requal::scripted
