// OpenVINO's intermediate representation: an XML document <net name= version=> of layers; the weights stand in a .bin file that holds
// nothing but bytes, at the offsets that the layers Const name. Format: OpenVINO's documentation, "OpenVINO IR format" and
// "Operation sets in OpenVINO"; read from files that OpenVINO 2026.4.1 saved (version 11; 10 is alike).
#include <algorithm>
#include <map>

#include "artifact/recognise.h"
#include "artifact/xml_scan.h"
#include "base/text.h"

namespace requal::artifact {

namespace {

constexpr std::size_t list_limit = 1000;
constexpr std::uint64_t read_limit = std::uint64_t{256}
                                     << 20;  // a hundred times what large models need

std::string safe(std::string_view text) {
    return is_utf8(text) ? std::string(text) : printable(text);
}

struct Network {
    std::string name, version;
    std::map<std::string, std::uint64_t> operators, constant_types;
    Json inputs = Json::array(), outputs = Json::array();
    Json info = Json::object();
    std::uint64_t layers = 0, weight_bytes = 0;
};

// Reads the tags of one document. Only layers of the network itself are described, not those of bodies inside them.
class Reader {
public:
    explicit Reader(Network& network) : network_(network) {}

    void tag(const XmlTag& tag) {
        if (tag.kind == XmlTag::Kind::close) {
            close(tag);
            path_.pop_back();
            return;
        }
        path_.push_back(tag.name);
        open(tag);
        if (tag.kind == XmlTag::Kind::empty) {
            close(tag);
            path_.pop_back();
        }
    }

private:
    bool in(std::initializer_list<std::string_view> wanted) const {
        return path_.size() == wanted.size() &&
               std::equal(path_.begin(), path_.end(), wanted.begin());
    }

    void open(const XmlTag& tag) {
        if (in({"net", "layers", "layer"})) {
            ++network_.layers;
            type_ = safe(tag.attribute("type"));
            port_ = Json::object(
                {{"name", safe(tag.attribute("name"))}, {"type", Json()}, {"shape", Json()}});
            if (const std::string_view names = tag.attribute("output_names"); !names.empty())
                port_["name"] = safe(names);
            port_seen_ = false;
            if (network_.operators.size() < list_limit || network_.operators.contains(type_))
                ++network_.operators[type_];
        } else if (in({"net", "layers", "layer", "data"}) && type_ == "Const") {
            constant(tag);
        } else if (in({"net", "layers", "layer", "output", "port"}) && type_ == "Parameter") {
            port(tag);
        } else if (in({"net", "layers", "layer", "input", "port"}) && type_ == "Result") {
            port(tag);
        } else if (path_.size() > 2 && path_[0] == "net" && path_[1] == "rt_info") {
            information(tag);
        }
    }

    void constant(const XmlTag& tag) {
        const std::string type = safe(tag.attribute("element_type"));
        if (network_.constant_types.size() < 100 || network_.constant_types.contains(type))
            ++network_.constant_types[type];
        const auto offset = parse_integer(tag.attribute("offset"));
        const auto size = parse_integer(tag.attribute("size"));
        if (offset && size && *offset >= 0 && *size >= 0 && *offset <= INT64_MAX - *size)
            network_.weight_bytes =
                std::max(network_.weight_bytes, static_cast<std::uint64_t>(*offset + *size));
    }

    void port(const XmlTag& tag) {
        if (port_seen_)
            return;
        port_seen_ = true;
        port_["type"] = safe(tag.attribute("precision"));
        port_["shape"] = Json::array();
        if (const std::string_view names = tag.attribute("names"); !names.empty())
            port_["name"] = safe(names);
    }

    void information(const XmlTag& tag) {
        const std::string_view value = tag.attribute("value");
        if (value.empty() || network_.info.size() >= 200)
            return;
        std::string key;
        for (std::size_t i = 2; i < path_.size(); ++i)
            key += (key.empty() ? "" : ".") + path_[i];
        // newer writers: <info name="OpenVINO Runtime" value="…">
        if (const std::string_view name = tag.attribute("name"); !name.empty())
            key = std::string(name);
        network_.info[safe(key)] = safe(value.substr(0, 1000));
    }

    void close(const XmlTag& tag) {
        if (tag.name == "dim" && port_seen_ && path_.size() == 6 && path_[4] == "port" &&
            port_["shape"].size() < 64) {
            const auto axis = parse_integer(tag.text);
            port_["shape"].push_back(axis && *axis >= 0 ? Json(*axis) : Json());
        }
        if (!in({"net", "layers", "layer"}))
            return;
        Json* list = type_ == "Parameter" ? &network_.inputs
                     : type_ == "Result"  ? &network_.outputs
                                          : nullptr;
        if (list != nullptr && list->size() < list_limit)
            list->push_back(port_);
    }

    Network& network_;
    std::vector<std::string> path_;
    std::string type_;
    Json port_ = Json::object();
    bool port_seen_ = false;
};

Json counts_of(const std::map<std::string, std::uint64_t>& counts) {
    Json object = Json::object();
    for (const auto& [name, count] : counts)
        object[name] = count;
    return object;
}

Recognised describe(const Network& network) {
    Recognised result;
    result.kind = "openvino-ir";
    Json& recorded = result.recorded;
    recorded["ir_version"] = network.version;
    recorded["graph_name"] = network.name;
    recorded["nodes"] = network.layers;
    recorded["operators"] = counts_of(network.operators);
    recorded["constant_types"] = counts_of(network.constant_types);
    recorded["weight_bytes_needed"] = network.weight_bytes;
    recorded["inputs"] = network.inputs;
    recorded["outputs"] = network.outputs;
    for (const char* key : {"OpenVINO Runtime", "Runtime_version"})
        if (network.info.has(key))
            recorded["runtime_version"] = network.info.at(key);
    if (network.info.size() > 0)
        recorded["metadata"] = network.info;
    if (!recorded.has("runtime_version"))
        result.unknown.push_back("runtime_version");
    result.unknown.push_back("source_model");
    return result;
}

std::optional<Recognised> recognise_ir(const ByteSource& source) {
    const std::string_view head = source.view(0, 5);
    if (head != "<?xml" && head.substr(0, 4) != "<net")
        return std::nullopt;
    Network network;
    bool began = false;
    try {
        const ByteSource bounded = source.part(0, read_limit);
        XmlScanner scanner(bounded);
        Reader reader(network);
        for (XmlTag tag; scanner.next(tag);) {
            if (!began) {
                if (tag.name != "net" || tag.attribute("version").empty() ||
                    tag.kind != XmlTag::Kind::open)
                    return std::nullopt;
                began = true;
                network.name = safe(tag.attribute("name"));
                network.version = safe(tag.attribute("version"));
                if (source.size() > read_limit)
                    throw MalformedXml{read_limit, "larger than what is read"};
            }
            reader.tag(tag);
        }
    } catch (const MalformedXml& malformed) {
        if (!began)
            return std::nullopt;
        Recognised damaged;
        damaged.damage.push_back("begins as OpenVINO IR and is damaged at byte " +
                                 std::to_string(malformed.offset) + ": " + malformed.what);
        return damaged;
    }
    if (network.layers == 0)
        return std::nullopt;
    return describe(network);
}

}  // namespace

std::vector<NamedRecogniser> recognisers_openvino_ir() {
    return {{"openvino-ir", recognise_ir}};
}

}  // namespace requal::artifact
