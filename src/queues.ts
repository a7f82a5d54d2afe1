export {
  bullmqOptions,
  bullmqProcessor,
  bullmqQueue,
  type BullmqJob,
  type BullmqJobOptions,
  type BullmqLeaseOptions,
  type BullmqProcessor,
  type BullmqQueue,
  type BullmqQueueOptions,
  type BullmqRing,
  type BullmqWorkerOptions,
} from './durable/queues/bullmq.ts'
export { sweep, type Sweep, type SweepOptions, type SweptRuns } from './durable/queues/sweep.ts'
