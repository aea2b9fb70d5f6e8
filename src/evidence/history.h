// What a ledger says of one protocol: every run that was ever begun, how it ended, and when the protocol was signed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "store/ledger.h"

namespace requal::evidence {

/// Type of the ledger record that says that a protocol was signed: body {"name", "protocol": digest of the file, "files": {name:
/// digest}, "envelopes": [digest]}.
inline constexpr std::string_view protocol_signed_record = "protocol-signed";

struct StepOfRun {
    std::string name;
    std::string state;  ///< "started", "finished"
    std::uint64_t seq = 0;
    std::map<std::string, Digest> blobs;  ///< what a finished step left
};

struct RunHistory {
    std::string run;
    std::string protocol;   ///< digest text of the protocol's file, as the ledger has it
    std::string state;      ///< "finished", "abandoned", "unfinished" (killed, or still at it)
    std::string why;        ///< of an abandoned one
    std::string continues;  ///< run from which it went on
    std::string verdict;    ///< of a finished one
    std::optional<Digest> record;
    std::map<std::string, Digest> files;  ///< of the run's folder
    std::vector<StepOfRun> steps;
    std::uint64_t started = 0;                    ///< seq of its first record
    std::optional<std::uint64_t> ended;           ///< seq of its last
    std::optional<std::uint64_t> first_measured;  ///< seq of its first step
};

struct ProtocolSigning {
    std::uint64_t seq = 0;
    std::string protocol;  ///< digest text
    std::vector<Digest> envelopes;
    std::map<std::string, Digest> files;  ///< what else was signed with it
};

struct History {
    std::string ledger;  ///< its id, from its first record
    store::Head end;     ///< `offset` counts from the first record
    std::string last_wall, last_clock;
    std::vector<RunHistory> runs;  ///< of the protocol, in the order in which they were begun
    std::vector<ProtocolSigning> signings;
    std::map<std::string, std::uint64_t> other_protocols;  ///< name -> runs begun
    std::map<Digest, std::uint64_t> removed;               ///< blobs that gc removed -> seq
    std::map<std::uint64_t, std::string> asked;            ///< digest text of the records asked for
};

/// Reads the records of a ledger that stand in `path` from byte `offset` on, `size_bytes` of them (to the last whole record when the
/// size is not given), and checks their chain. Error(storage) when they are damaged. `seqs`: records whose digests are wanted.
History read_history(const std::string& path, const std::string& protocol_name,
                     std::uint64_t offset = 0, std::optional<std::uint64_t> size_bytes = {},
                     const std::vector<std::uint64_t>& seqs = {});

/// The list of runs as it stands in an evidence package; equal histories give equal lists.
Json runs_json(const History& history);
Json signings_json(const History& history);

/// Every blob that the runs and signings name, with the name under which it was first met ("RUN/record.json").
std::map<Digest, std::string> blobs_of(const History& history);

}  // namespace requal::evidence
