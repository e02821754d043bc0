import { Injectable } from '@nestjs/common';
import { InvalidArgumentError, InvalidPayloadError, Job, Retry } from 'nestjs-millrace';
import { JobState } from 'nestjs-millrace/storage';
import { RunningNode } from '../support/running-node';
import { describeOnStores } from '../support/stores';

@Injectable()
class Messages {
  readonly received: unknown[] = [];

  @Job()
  async take(text: unknown): Promise<void> {
    this.received.push(text);
  }

  @Job()
  async fail(): Promise<void> {
    throw new Error(Object.values(UNSTORABLE).join(' '));
  }
}

/** One database or another cannot hold them. */
const UNSTORABLE = { NUL: 'a\u0000b', 'a lone high surrogate': 'a\ud800', 'a lone low surrogate': '\udc00b' };

const STORABLE = {
  emoji: 'job 👩‍👩‍👧‍👦 done',
  'four-byte text': '𝒥𝓸𝓫 𠜎',
  'right-to-left marks': '\u200fמשימה\u202e',
  'line ends and quotes': 'a\r\n\t\u0001"\'\\`$1 ? :name',
  'text that ends in a blank': 'a ',
};

describe('text that some databases cannot store', () => {
  describeOnStores(['memory', 'sqlite', 'postgres', 'mssql'], (freshStore) => {
    it('is refused as an argument and as the key of one, before anything is stored', async () => {
      await using node = await RunningNode.start({ store: freshStore(), workerEnabled: false, providers: [Messages] });

      for (const text of Object.values(UNSTORABLE)) {
        for (const argument of [text, { deep: [text] }, { [text]: 1 }, new Map([[text, 1]])]) {
          await expect(node.jobs.enqueue(Messages, (messages) => messages.take(argument))).rejects.toMatchObject({
            code: new InvalidPayloadError('', '').code,
            path: expect.stringContaining('argument 1'),
          });
        }
      }

      expect(await node.everyJob()).toEqual([]);
    });

    it('is refused as a key, a queue and a recurring id', async () => {
      await using node = await RunningNode.start({ store: freshStore(), workerEnabled: false, providers: [Messages] });

      for (const text of Object.values(UNSTORABLE)) {
        for (const options of [{ idempotencyKey: text }, { queue: text }]) {
          await expect(node.jobs.enqueue(Messages, (messages) => messages.take(1), options)).rejects.toBeInstanceOf(
            InvalidArgumentError,
          );
        }
        await expect(
          node.jobs.upsertRecurring(text, '@daily', Messages, (messages) => messages.take(1)),
        ).rejects.toBeInstanceOf(InvalidArgumentError);
      }

      expect(await node.everyJob()).toEqual([]);
    });

    it('does not stand in the way of text that only looks odd, which arrives exactly', async () => {
      await using node = await RunningNode.start({ store: freshStore(), providers: [Messages] });
      const texts = Object.values(STORABLE);

      for (const text of texts) {
        await node.jobs.enqueue(Messages, (messages) => messages.take({ [text]: text }), { idempotencyKey: 'order' });
        await node.allEnded();
      }

      expect(node.get(Messages).received).toEqual(texts.map((text) => ({ [text]: text })));
    });

    it('tells keys apart that only look alike, and keeps odd ones', async () => {
      await using node = await RunningNode.start({ store: freshStore(), workerEnabled: false, providers: [Messages] });
      const keys = ['é', 'e\u0301', 'E\u0301', 'straße', 'strasse', 'job 👩‍👩‍👧‍👦', '𝒥𝓸𝓫', 'k', 'K', 'ı', 'i'];
      const enqueue = (idempotencyKey: string) =>
        node.jobs.enqueue(Messages, (messages) => messages.take(1), { idempotencyKey });

      const first: string[] = [];
      for (const key of keys) first.push(await enqueue(key));
      const second: string[] = [];
      for (const key of keys) second.push(await enqueue(key));

      expect(new Set(first).size).toBe(keys.length);
      expect(second).toEqual(first);
      for (const [index, id] of first.entries()) {
        expect((await node.jobs.getJob(id))!.idempotencyKey).toBe(keys[index]);
      }
    });

    it('cannot keep a failure from being recorded', async () => {
      await using node = await RunningNode.start({ store: freshStore(), providers: [Messages] });

      const id = await node.jobs.enqueue(Messages, (messages) => messages.fail(), { retry: Retry.none });
      const job = await node.ended(id);

      expect(job.state).toBe(JobState.Dead);
      expect(job.lastError).toContain('a\ufffdb a\ufffd \ufffdb');
    });
  });
});
