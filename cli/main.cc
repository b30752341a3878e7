#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>

#include "cli/arguments/unknown_argument.h"
#include "cli/commands.h"
#include "cli/doctor/version_text.h"
#include "cli/process/isa.h"
#include "cli/process/limits.h"
#include "cli/terminal/output.h"
#include "veche/base/files/cut_files.h"
#include "veche/errors.h"

namespace {

using veche::cli::answer_text;
using veche::cli::describe_unknown_argument;
using veche::cli::flush_output;
using veche::cli::kFailed;
using veche::cli::kWrongRequest;
using veche::cli::tell_sentence;

int say(const std::string& sentence, int code) {
  flush_output();  // earlier output first
  tell_sentence(sentence);
  return code;
}

// Refuses an empty argument, such as from a script's unset variable, instead of treating it as
// omitted.
void refuse_empty_words(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_items_expected_min() > 0)
      option->check([](const std::string& word) {
        return std::string(word.empty() ? "the word is empty; give one, or leave the option out" : "");
      });
  for (CLI::App* command : app.get_subcommands({})) refuse_empty_words(*command);
}

int run(int argc, char** argv) {
  CLI::App app{"Veche trains one neural network on many nodes that agree with each other."};
  app.name("veche");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", veche::cli::version_text);
  int exit_code = 0;
  veche::cli::add_train(app, exit_code);
  veche::cli::add_simulate(app, exit_code);
  veche::cli::add_data(app);
  veche::cli::add_model(app);
  veche::cli::add_bench(app);
  veche::cli::add_topology(app);
  veche::cli::add_grid(app, exit_code);
  veche::cli::add_predict(app, exit_code);
  veche::cli::add_generate(app);
  veche::cli::add_serve(app);
  veche::cli::add_report(app);
  veche::cli::add_watch(app);
  veche::cli::add_examples(app);
  veche::cli::add_doctor(app, exit_code);
  veche::cli::add_completion(app);
  refuse_empty_words(app);
  try {
    veche::cli::check_limits();
    veche::cli::ignore_bad_thread_counts();
    veche::cli::limit_instructions_by_environment();
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) answer_text(app.help());
    return exit_code;
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    const int code = app.exit(asked, text, text);
    answer_text(text.str());
    return code;
  } catch (const CLI::ExtrasError& error) {
    return say(describe_unknown_argument(app, error.what()), kWrongRequest);
  } catch (const CLI::RequiredError& error) {  // a subcommand is missing, and another word is in its place
    return say(describe_unknown_argument(app, error.what()), kWrongRequest);
  } catch (const CLI::ParseError& error) {
    return say(error.what(), kWrongRequest);
  } catch (const veche::RequestError& error) {
    return say(error.what(), kWrongRequest);
  } catch (const std::bad_alloc&) {
    flush_output();
    veche::cli::end_for_lack_of_memory();
  } catch (const std::filesystem::filesystem_error& error) {
    return say("'" + error.path1().string() + "': " + error.code().message(), kFailed);
  } catch (const std::exception& error) {
    return say(error.what(), kFailed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  veche::cli::prepare_output();
  veche::explain_cut_files();
  veche::cli::explain_lack_of_memory();
  const int code = run(argc, argv);
  const std::string failure = veche::cli::end_output();
  if (failure.empty()) return code;
  veche::cli::tell_sentence(failure);
  return code == 0 ? kFailed : code;
}
