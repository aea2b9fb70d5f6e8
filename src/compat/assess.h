// One engine against one target: which axes agree, which routes are open, which rules exclude it. A pure function; coverage and guard
// make their words of it.
#pragma once

#include <string>
#include <vector>

#include "compat/rule_set.h"

namespace requal::compat {

/// A rule that applies, with its conditions told apart.
struct Applied {
    const Rule* rule = nullptr;
    std::vector<std::string> met;      ///< conditions that hold by what is stated
    std::vector<std::string> to_show;  ///< conditions that nobody stated
};

enum class Match {
    agree,         ///< all axes agree
    route,         ///< what differs is bridged by routes
    excluded,      ///< a rule excludes it
    not_addressed  ///< nothing is known that covers or excludes it
};

struct Assessment {
    Match match = Match::not_addressed;
    std::vector<Applied> excludes;  ///< with match excluded: all that apply
    std::vector<Applied> routes;  ///< the match rule, or a route for each axis that does not agree
    std::vector<Applied> duties;  ///< what taking these routes asks of the loader or the supplier
    std::vector<std::string> met;
    std::vector<std::string> to_show;  ///< in words, with duties
    std::vector<std::string> unknown;  ///< axes of which too little is known: "gpu: GPU model"
    std::vector<std::string> differs;  ///< axes that are known to differ and have no route
    bool complete = false;             ///< agree or route, and nothing but duties is left to show

    std::vector<std::string> rule_ids() const;  ///< of what decided, each once
    std::vector<std::string> prices() const;    ///< of routes and duties, each once, without "none"
};

/// An exclusion needs every one of its conditions met by what is stated; a route needs its `needs` met and none of its conditions
/// refused. Only rules of the engine's own product are asked. Exclusions go before routes: where statements disagree the stricter
/// decides. `stated` must be derived already (derive()).
Assessment assess(const RuleSet& rules, const Facts& built, const Facts& target);

}  // namespace requal::compat
