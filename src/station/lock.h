// Is the state of a machine frozen? Checks on a snapshot, with the commands that would freeze it and their undo. Changes nothing.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"
#include "base/json.h"

namespace requal::station {

/// Packages whose upgrade moves a qualified state; those that are installed must be held.
struct LockRules {
    std::vector<std::string> hold;           ///< names
    std::vector<std::string> hold_prefixes;  ///< beginnings of names
    std::vector<std::string>
        sources;  ///< parts of an apt source's address or file that must be disabled
    Json described;
};

/// rules/lock.yaml; Error(input) by line.
LockRules load_lock_rules(const std::string& folder = {});

/// The document lock/1: {"checks": [{"id", "frozen": "yes"|"no"|"unknown", "says", "freeze": [commands], "undo": [commands]}], "verdict"}.
/// `qualified`: the snapshot of the qualified state, for the digests of engines and boot state; null: none.
Json lock_document(const LockRules& rules, const Json& snapshot, const Json& qualified);

std::string lock_text(const Json& lock);

}  // namespace requal::station
