#include "entrypoint/gathering/proof.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using Speaker = Handshake::Speaker;

TEST(Proof, IsTheHmacOfRfc4231) {
  EXPECT_EQ(fingerprint("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Proof, HoldsForOneMessageOfOneSpeakerInOneConnection) {
  const Handshake handshake{
      .secret = "secret", .leader_nonce = random_digits(), .worker_nonce = random_digits()};
  const Message hello = handshake.proven(
      Speaker::kWorker, {.kind = Message::Kind::kHello, .rank = 1, .size = 2, .host = "host"});
  EXPECT_TRUE(handshake.is_proven(Speaker::kWorker, hello));
  EXPECT_FALSE(handshake.is_proven(Speaker::kLeader, hello));
  Message other = hello;
  other.rank = 2;
  EXPECT_FALSE(handshake.is_proven(Speaker::kWorker, other));
  other = hello;
  other.proof.pop_back();
  EXPECT_FALSE(handshake.is_proven(Speaker::kWorker, other));
  Handshake changed = handshake;
  changed.secret = "Secret";
  EXPECT_FALSE(changed.is_proven(Speaker::kWorker, hello));
  changed = handshake;
  changed.leader_nonce = random_digits();
  EXPECT_FALSE(changed.is_proven(Speaker::kWorker, hello));
}

TEST(Proof, NeedsBothNonces) {
  Handshake handshake{.secret = "secret", .leader_nonce = random_digits()};
  EXPECT_FALSE(handshake.is_proven(Speaker::kWorker, handshake.proven(Speaker::kWorker, {})));
  // Two texts of other lengths whose sum is the same.
  handshake.worker_nonce = handshake.leader_nonce + "0";
  EXPECT_FALSE(handshake.is_proven(Speaker::kWorker, handshake.proven(Speaker::kWorker, {})));
}

TEST(Proof, RandomDigitsDiffer) {
  EXPECT_EQ(random_digits().size(), 64);
  EXPECT_NE(random_digits(), random_digits());
}

}  // namespace
}  // namespace berth
