import { ApiProperty } from '../../optional-swagger';

export class InfoDto {
  @ApiProperty({ example: 'sqlite' })
  provider!: string;

  @ApiProperty({ type: [String], example: ['EmailSender.sendConfirmation'] })
  handlers!: readonly string[];
}
