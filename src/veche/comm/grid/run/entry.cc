#include "veche/comm/grid/identity/invitation.h"
#include "veche/comm/grid/run/grid_member.h"
#include "veche/comm/grid/run/joining.h"
#include "veche/comm/grid/run/member_context.h"
#include "veche/comm/grid/run/searching.h"
#include "veche/comm/grid/wire_encoding.h"
#include "veche/errors.h"

namespace veche::grid {
namespace {

constexpr Time kToBeFound{5};

void refuse_a_used_folder(const GridFolder& files, const GridOptions& options) {
  if (files.holds_a_member())
    throw RequestError(options.folder.string() +
                       " holds a member of a grid already: veche grid join --resume " +
                       options.folder.string() + " continues it");
}

}  // namespace

std::unique_ptr<Grid> found_member(const GridOptions& options, const std::string& configuration) {
  const GridFolder files(options.folder);
  refuse_a_used_folder(files, options);
  const Instant now = std::chrono::system_clock::now();
  const KeyPair root = KeyPair::make(), key = KeyPair::make();
  Trust trust(make_root(root, now));
  trust.learn(make_root_warrant(root, key.get(), now));
  files.write_key(key);
  files.write_configuration(configuration);
  files.write_trust(trust);
  files.write_certificate(make_member(key, key.get(), now));
  return make_member_of_run(options, Entry::found);  // the root's key is discarded: no member is special
}

std::unique_ptr<Grid> join_member(const GridOptions& options, const std::string& text) {
  const InvitationLine invitation = InvitationLine::parse(text);
  const KeyPair key = KeyPair::make();
  JoinRequest request;
  request.nodes = options.nodes;
  request.name = name_of(options);
  request.addresses = options.addresses;
  std::string said;
  const JoinAnswer answer = ask_to_join(
      invitation, key, request,
      [&](const std::string& sentence) {
        if (options.say && sentence != said) options.say(said = sentence);
        return options.interrupted == nullptr || !*options.interrupted;
      },
      [&] { return search_for(invitation.run, options, kToBeFound); });
  Trust trust(answer.root);
  try {
    learn_trust(trust, answer.trust);
  } catch (const MalformedMessage& error) {
    throw RequestError(std::string("the answer to the invitation is damaged: ") + error.what());
  }
  trust.learn(answer.warrant);
  GridOptions known = options;
  if (options.configured) options.configured(answer.configuration, known);
  const GridFolder files(known.folder);
  refuse_a_used_folder(files, known);
  files.write_key(key);
  files.write_configuration(answer.configuration);
  files.write_members(answer.members);
  files.write_trust(trust);
  files.write_certificate(trust.inviter(key.id())
                              ? make_member(key, key.get(), std::chrono::system_clock::now())
                              : answer.certificate);
  return make_member_of_run(known, Entry::join);
}

std::unique_ptr<Grid> resume_member(const GridOptions& options) {
  const GridFolder files(options.folder);
  if (!files.holds_a_member())
    throw RequestError(options.folder.string() + " holds no member of a grid that could resume");
  const auto trust = files.trust();
  const KeyPair key = files.key();
  if (trust->is_revoked(key.id()))
    throw RequestError("the member of " + options.folder.string() + " was revoked: ask for a new invitation");
  // It may have been away for more than a day, as may all others.
  if (trust->inviter(key.id()))
    files.write_certificate(make_member(key, key.get(), std::chrono::system_clock::now()));
  return make_member_of_run(options, Entry::resume);
}

}  // namespace veche::grid
