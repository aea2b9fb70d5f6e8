// completion and man: texts made from the tables of all verbs.
#include "base/document.h"
#include "cli/help.h"
#include "cli/verb.h"

namespace requal::cli {

namespace {

Result text_result(std::string text) {
    Result result;
    result.document = new_document("text", 1);
    result.document["text"] = text;
    result.text = std::move(text);
    return result;
}

Result run_completion(const Arguments& arguments, const Common&) {
    return text_result(arguments.text("SHELL") == "bash" ? bash_completion(all_verbs())
                                                         : zsh_completion(all_verbs()));
}

Result run_man(const Arguments&, const Common&) {
    return text_result(man_page(all_verbs()));
}

}  // namespace

std::vector<Verb> verbs_completion() {
    Verb completion;
    completion.name = "completion";
    completion.summary = "prints the completion script of a shell";
    completion.positionals = {
        {.name = "SHELL", .help = "the shell", .required = true, .choices = {"bash", "zsh"}}};
    completion.examples = {"source <(requal completion bash)",
                           "requal completion zsh > ~/.zfunc/_requal"};
    completion.run = run_completion;

    Verb man;
    man.name = "man";
    man.summary = "prints the man page in roff";
    man.examples = {"requal man | man -l -"};
    man.run = run_man;
    return {completion, man};
}

}  // namespace requal::cli
