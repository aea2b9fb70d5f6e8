#include "commands.h"

#include <filesystem>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "station/diff.h"
#include "station/snapshot.h"

namespace requal::station {

namespace {

[[noreturn]] void fail_usage(std::string message, std::string where) {
    throw Error(ErrorKind::usage, std::move(message), std::move(where),
                "see 'requal-station --help'");
}

struct Words {
    std::map<std::string, std::vector<std::string>> values;
    std::set<std::string> flags;
    std::vector<std::string> positionals;

    std::string one(const std::string& name) const {
        const auto found = values.find(name);
        if (found == values.end())
            return {};
        if (found->second.size() > 1)
            fail_usage("given twice", name);
        return found->second.front();
    }
    std::vector<std::string> all(const std::string& name) const {
        const auto found = values.find(name);
        return found == values.end() ? std::vector<std::string>() : found->second;
    }
};

Words parse(const std::vector<std::string>& words, const std::vector<std::string_view>& with_value,
            const std::vector<std::string_view>& flags) {
    Words result;
    bool only_files = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const auto is_in = [&](const std::vector<std::string_view>& list) {
            for (const std::string_view known : list)
                if (word == known)
                    return true;
            return false;
        };
        if (only_files || word.size() < 2 || word[0] != '-') {
            result.positionals.push_back(word);
        } else if (word == "--") {
            only_files = true;
        } else if (is_in(flags)) {
            result.flags.insert(word);
        } else if (is_in(with_value)) {
            if (i + 1 == words.size())
                fail_usage("its value is missing", word);
            result.values[word].push_back(words[++i]);
        } else {
            std::vector<std::string_view> known = with_value;
            known.insert(known.end(), flags.begin(), flags.end());
            const std::string near = nearest(word, known);
            fail_usage(near.empty() ? "unknown option"
                                    : "unknown option (did you mean '" + near + "'?)",
                       word);
        }
    }
    return result;
}

}  // namespace

Answer snapshot_command(const std::vector<std::string>& words) {
    const Words given = parse(
        words,
        {"--sysroot", "--output", "-o", "--engine", "--library-folder", "--trust-mtime", "--jobs"},
        {"--idle"});
    if (!given.positionals.empty())
        fail_usage("not expected", given.positionals.front());
    SnapshotRequest request;
    request.sysroot = given.one("--sysroot");
    request.engines = given.all("--engine");
    request.folders = given.all("--library-folder");
    if (request.sysroot.empty())
        for (std::vector<std::string>* paths : {&request.engines, &request.folders})
            for (std::string& path : *paths)
                path = std::filesystem::absolute(path).string();
    if (const std::string earlier = given.one("--trust-mtime"); !earlier.empty())
        request.earlier = read_snapshot(read_file(earlier, std::uint64_t{64} << 20U), earlier);
    if (const std::string jobs = given.one("--jobs"); !jobs.empty()) {
        const auto number = parse_integer(jobs);
        if (!number || *number < 1 || *number > 1024)
            fail_usage("no number of threads", "--jobs");
        request.jobs = static_cast<int>(*number);
    }
    request.idle = given.flags.contains("--idle");
    Answer answer;
    answer.document = take_snapshot(request, system_clock());
    const std::string out = given.one("-o").empty() ? given.one("--output") : given.one("-o");
    if (out.empty()) {
        answer.text = snapshot_text(answer.document);
    } else {
        write_file_atomically(out, write_json(answer.document));
        answer.text = "state " + answer.document.at("state_digest").as_string() + "\n";
    }
    return answer;
}

Answer diff_command(const std::vector<std::string>& words) {
    const Words given = parse(words, {}, {});
    if (given.positionals.size() != 2)
        fail_usage("two files are compared", "diff");
    Answer answer;
    answer.document =
        diff_document(read_side(given.positionals[0]), read_side(given.positionals[1]));
    answer.text = diff_text(answer.document);
    answer.status = exit_status_of_diff(answer.document);
    return answer;
}

}  // namespace requal::station
